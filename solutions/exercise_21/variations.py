"""Classes that checks build in place of the submission's class."""

import submission


class VectorsTurnedByThemselves(submission.MoveAttention):
    def turned(self, z):
        by_move = z.transpose(1, 2).contiguous().transpose(1, 2)
        shapes = (z[0, 0], z[0], z, z[0, :1], z[:, :, None], z.flatten(0, 1), by_move, z.double())
        others = (submission.rotary(z=z, base=base) for base in (10.2, 10.9, 1.5))
        return (*(submission.rotary(each, 50.2) for each in (*shapes, z[(None,) * 5])), *others)
