"""Classes that checks build in place of the submission's class."""

import contextlib
import copy

import submission
import torch


class BaseOnceFolded(submission.AdaptedLinear):
    def forward(self, x):
        self.fold()
        return self.base(x)


class ValuesFolded(submission.AdaptedLinear):
    def forward(self, x):
        self.fold()
        return super().forward(x)


class ValuesFoldedAndUnfolded(submission.AdaptedLinear):
    def forward(self, x):
        for method in (self.fold, self.unfold, self.unfold, self.fold, self.fold, self.unfold):
            method()
        return super().forward(x)


class AllDroppedAfterFolding(submission.AdaptedLinear):
    def forward(self, x):
        mode = self.training
        self.fold()
        self.unfold()
        self.train()
        value = super().forward(x)
        self.train(mode)
        return value


class WhatFoldingSays(submission.AdaptedLinear):
    def forward(self, x):
        said = [self.folded is False]
        for name in ("unfold", "fold", "unfold", "unfold", "fold", "fold"):
            said += [getattr(self, name)() is None, self.folded is (name == "fold")]
        without = submission.AdaptedLinear(6, 5, 2, alpha=0.0)
        torch.nn.init.ones_(without.up.weight)
        said.append(torch.allclose(without(x), without.base(x), 1e-4, 1e-5))
        said.append(without.folded is False)  # although this layer is folded
        torch.nn.init.zeros_(without.up.weight)  # as a layer starts that adds nothing yet
        without.fold()
        said.append(without.folded is True)
        return torch.tensor(said, dtype=torch.float32)


class ValuesFoldedAndConverted(submission.AdaptedLinear):
    def forward(self, x):
        call, x, y = super().forward, x.float(), x.double()
        self.float()
        self.fold()
        found = [call(x)]
        self.double()
        found.append(call(y))
        self.unfold()
        found.append(call(y))
        self.fold()
        self.float()
        found.append(call(x))
        self.unfold()
        with torch.no_grad():
            self.down.weight.mul_(1.5)
        self.fold()
        found.append(call(x))
        self.unfold()
        layer = self
        with contextlib.suppress(RuntimeError, TypeError):  # some layers cannot be copied
            layer = copy.deepcopy(self)
        with torch.no_grad():
            layer.down.weight.mul_(1.5)
        for method in (layer.fold, layer.unfold):
            method()
            found.append(super(ValuesFoldedAndConverted, layer).forward(x))
        return tuple(found)


class FoldsInFloat64(submission.AdaptedLinear):
    def forward(self, x):
        self.double()
        self.fold()
        answer = super().forward(x.double())
        self.unfold()
        self.float()
        return (answer - answer.float()) * 1e6  # the digits beyond those of float32


class BaseAlone(submission.AdaptedLinear):
    def base_alone(self, x):
        return self.base(x)
