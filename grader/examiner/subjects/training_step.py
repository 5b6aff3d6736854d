"""A training step: the student's function is called with a model, an optimizer and batches that are the kit's.

Each input has an axis of steps first; each step is handed its part. What is compared are the parameters, buffers and
modes after every step, what the step returned, and what is drawn at random afterwards.
"""

from grader.examiner.subjects.kind import SubjectKind

ADAPTER = """
class _Model(torch.nn.Module):
    def __init__(self, width, outputs):
        super().__init__()
        self.first = torch.nn.Linear(width, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.drop = torch.nn.Dropout(0.5)
        self.last = torch.nn.Linear(8, outputs)

    def forward(self, x):
        return self.last(self.drop(torch.tanh(self.norm(self.first(x)))))


class Adapter(torch.nn.Module):
    def __init__(self, width=6, outputs=3, learning_rate=0.1, momentum=0.9, **arguments):
        super().__init__()
        self.model = _Model(width, outputs)
        self.learning_rate, self.momentum, self.arguments = learning_rate, momentum, arguments

    def forward(self, *positional, **inputs):
        import copy

        inputs = {**dict(zip(INPUTS, positional)), **inputs}
        steps = min(len(each) for each in inputs.values() if isinstance(each, torch.Tensor))
        with torch.inference_mode(False), torch.enable_grad():
            model = copy.deepcopy(self.model).train(self.training)
            optimizer = torch.optim.SGD(model.parameters(), lr=self.learning_rate, momentum=self.momentum)
            drawn = torch.get_rng_state()
            torch.default_generator.manual_seed(5)
            seen = []
            for step in range(steps):
                batch = {
                    name: each[step].detach().clone() if isinstance(each, torch.Tensor) else each
                    for name, each in inputs.items()
                }
                returned = getattr(submission, ENTRY)(model, optimizer, **batch, **self.arguments)
                seen.append(self._state(model, returned))
            torch.set_rng_state(drawn)
        return tuple(torch.stack(values) for values in zip(*seen))

    def _state(self, model, returned):
        modes = torch.tensor([float(each.training) for each in model.modules()])
        values = [torch.as_tensor(each).detach().clone() for each in model.state_dict().values()]
        if isinstance(returned, (int, float, torch.Tensor)):
            values.append(torch.as_tensor(returned, dtype=torch.float64).detach().clone())  # a number or a tensor
        return [*values, modes, torch.rand(2)]
"""

KIND = SubjectKind("one step of a training loop, `step(model, optimizer, ...)`", ADAPTER)
