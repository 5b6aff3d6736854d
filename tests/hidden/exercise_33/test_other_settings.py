"""Steps of small models, with other settings, inputs and modes."""

# B batch, W width, C classes

from grader.checks.compare import Failure, compare

B, W, C = 66, 4, 3
PARTS = [3, 5, 9, 17, 33]  # of which chunk makes no part of one sample
LOUD = [0.01, 3000.0, 2.0**15, 2.0**17, 1e7]
LIMITS = [0.0, 0.5, 30.0, 500.0, 1e9]
ENDLESS = 1e15
SAMPLE = 5
PROBE = """
class Variation(torch.nn.Module):
    def move(self, x, y, settings):
        model = torch.nn.Linear(x.shape[1], CLASSES)
        torch.nn.init.zeros_(model.weight)
        torch.nn.init.zeros_(model.bias)
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
        steps = []
        optimizer.register_step_post_hook(lambda *_: steps.append(1))
        submission.training_step(model, optimizer, x.clone(), y.clone(), **settings)
        return torch.cat([model.weight.detach(), model.bias.detach()[:, None]], dim=1), len(steps)

    def evaluated(self, x, y, places, is_training):
        model = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], CLASSES), torch.nn.BatchNorm1d(CLASSES), torch.nn.Dropout(0.5)
        )
        model.train(is_training)
        for place in places:
            model[place].train(not is_training)
        found = set()

        def note(module, *_):
            if not module.training:
                found.add(type(module).__name__)

        for each in model.modules():
            each.register_forward_hook(note)
        submission.training_step(model, torch.optim.SGD(model.parameters(), lr=0.1), x.clone(), y.clone())
        return sorted(found)
""".replace("CLASSES", str(C))


def build(factory):
    return factory.build({}, probe=PROBE, entry="Variation")


def batch(gaussian):
    return {"x": 10.0 * gaussian(B, W), "y": gaussian(B, C).argmax(dim=-1)}


def move(module, inputs, **settings):
    """Return the weights and biases after a step from zeros, (C, W + 1)."""
    return module.call("move", **inputs, settings=settings)[0]


def test_a_loss_of_any_loudness_makes_the_same_step(subject, gaussian):
    module, inputs = build(subject), batch(gaussian)
    expected = move(module, inputs, loudness=1.0, longest=ENDLESS, parts=1)
    for loudness in LOUD:
        seen = move(module, inputs, loudness=loudness, longest=ENDLESS, parts=1)
        compare(seen, expected, f"loudness={loudness:g} in place of 1, with an endless limit: what the step adds")


def test_any_number_of_parts_makes_the_same_step(subject, gaussian):
    module, inputs = build(subject), batch(gaussian)
    expected = move(module, inputs, longest=ENDLESS, parts=1)
    for parts in PARTS:
        seen = move(module, inputs, longest=ENDLESS, parts=parts)
        compare(seen, expected, f"parts={parts} in place of 1, in a model without batch norm: what the step adds")


def test_a_limit_of_any_length_is_kept(subject, reference, gaussian):
    ours, theirs, inputs = build(subject), build(reference), batch(gaussian)
    inputs["x"] *= 1000.0
    for longest in LIMITS:
        seen, expected = (move(each, inputs, longest=longest, loudness=1.0, parts=1) for each in (ours, theirs))
        compare(seen, expected, f"gradients of a length in the thousands and longest={longest:g}: what the step adds")


def test_one_call_is_one_step_whatever_the_gradients(subject, gaussian):
    module, inputs = build(subject), batch(gaussian)
    for value in (0.0, float("nan")):
        inputs["x"][SAMPLE] = value
        weights, steps = module.call("move", **inputs, settings={})
        if steps != 1:
            raise Failure("steps", f"a sample of {value}: expected the optimizer to take one step, got {steps}")
    if not bool(weights.isnan().all()):
        raise Failure("nan", "a sample of nan: expected the step to use its gradients, but some weights are not nan")


def test_every_layer_is_in_training_mode(subject, gaussian):
    module, inputs = build(subject), batch(gaussian)
    for places, is_training, state in (
        ([], False, "a model in eval mode"),
        ([1], True, "a model in training mode with a batch norm in eval mode"),
        ([2], True, "a model in training mode with a dropout in eval mode"),
        ([0, 1, 2], False, "a model in eval mode with all layers in training mode"),
    ):
        found = module.call("evaluated", **inputs, places=places, is_training=is_training)
        if found:
            raise Failure(
                "mode",
                f"{state}: expected each part of it to be in training mode, got eval mode for {', '.join(found)}",
            )
