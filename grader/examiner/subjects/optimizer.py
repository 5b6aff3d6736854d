"""An optimizer: parameters after each of some steps from the same start, once also through its state dict.

The inputs are the parameters' first values; the whole number `steps` says how many there are. The gradients follow from
the parameters, small ones and large ones; one parameter gets none.
"""

from grader.examiner.subjects.kind import SubjectKind

ADAPTER = """
TINY, TINY_EVERY = 1e-8, 3  # so small that what is added to avoid a division by zero counts

class Adapter(torch.nn.Module):
    def __init__(self, steps=4, **arguments):
        super().__init__()
        self.steps, self.arguments = steps, arguments

    def forward(self, *positional, **inputs):
        starts = {**dict(zip(INPUTS, positional)), **inputs}.values()
        straight = self._walk(starts, reloads=False)
        return (*straight, *self._walk(starts, reloads=True))

    def _walk(self, starts, *, reloads):
        with torch.inference_mode(False), torch.enable_grad():
            parameters = [torch.nn.Parameter(each.detach().clone()) for each in starts]
            unused = torch.nn.Parameter(torch.ones(2, dtype=parameters[0].dtype))
            optimizer = getattr(submission, ENTRY)([*parameters, unused], **self.arguments)
            seen = [[each.detach().clone() for each in (*parameters, unused)]]
            for step in range(self.steps):
                if reloads and step == self.steps // 2:
                    other = getattr(submission, ENTRY)([*parameters, unused], **self.arguments)
                    other.load_state_dict(optimizer.state_dict())
                    optimizer = other
                for index, each in enumerate(parameters):
                    each.grad = torch.sin(each.detach() * (1 + step)) * 10.0 ** (index % 3 - 1) + 0.1 * step
                    each.grad.view(-1)[::TINY_EVERY] *= TINY
                optimizer.step()
                seen.append([each.detach().clone() for each in (*parameters, unused)])
        return tuple(torch.stack(values) for values in zip(*seen))
"""

KIND = SubjectKind("an optimizer", ADAPTER)
