"""Classes that checks build in place of the submission's class."""

import submission
import torch


class PiecesWithoutGradients(submission.RememberingAttention):
    def forward(self, x):
        call = super().forward
        with torch.no_grad():
            self.double()
            whole, parts = call(x.double()), []
            for index, piece in enumerate(x.double().split(25, dim=1)):
                given = piece.clone()
                parts.append(call(given, more=index > 0))
                given.zero_()  # what the caller does with its tensor afterwards does not matter
        text = torch.cat(parts, dim=1)
        return text, 1e6 * (text - whole)


class GradientsOfASecondPiece(submission.RememberingAttention):
    def forward(self, x):
        call, mode, found = super().forward, self.training, []
        with torch.inference_mode():
            call(x.detach())
        for is_training in (False, True):
            self.train(is_training)
            call(x[:, :3])
            found.append(call(x[:, 3:], True))
            with torch.inference_mode():
                call(x[:, :3])
            found.append(call(x[:, 3:], True))
        self.train(mode)
        return found


class WordsReadAndWhatIsSaved(submission.RememberingAttention):
    def forward(self, x):
        call, mode, read = super().forward, self.training, []
        for is_training in (False, True):
            self.train(is_training)
            for index, piece in enumerate([*x.split(2, dim=1), x]):
                call(piece, more=0 < index < 3)
                read.append(self.offset if type(self.offset) is int else -1)
        self.train(mode)
        return torch.tensor(read), dict(self.state_dict())


class OnePieceAtATime(submission.RememberingAttention):
    def without_gradients(self, x, more):
        with torch.no_grad():
            return self(x, more)

    def learn_twice(self, first, second):
        self(first).sum().backward()
        self(second, more=True).sum().backward()
