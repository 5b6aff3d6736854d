"""Classes that checks build in place of the submission's class."""

import contextlib
import copy

import submission
import torch


def change_weights(module):
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(1.5).add_(0.25)


def all_parameters(network):
    parts = {"online": network.online, "twin": network.twin}
    return {
        f"parameter {i} of {name}": each for name, part in parts.items() for i, each in enumerate(part.parameters())
    }


class WhatFollowingLeaves(submission.CalmNetwork):
    def forward(self, x):
        call, mode, seen = super().forward, self.training, {}
        for index in range(4):
            self.train()
            seen[f"output {index}"] = call(x * (1.0 + index) + 2.0 * index)
            change_weights(self.online)
            self.train(index % 2 == 0)
            seen[f"follow() returns nothing, call {index}"] = torch.tensor(float(self.follow() is None))
        self.follow()  # nothing is new, and the twin comes closer all the same
        self.train(mode)
        statistics = zip(self.twin.named_buffers(), self.online.buffers(), strict=False)
        seen |= {f"twin's {name} minus online's": one - other for (name, one), other in statistics}
        seen |= all_parameters(self)
        return {name: each.detach().to(x.dtype) for name, each in seen.items()}


class WhatTrainingLeaves(submission.CalmNetwork):
    def forward(self, x):
        call, mode, seen = super().forward, self.training, {}
        many = x[torch.arange(1100) % len(x)] + torch.linspace(-1.0, 1.0, 1100)[:, None]
        self.train()
        for index in range(2):
            before = {name: each.clone() for name, each in self.twin.state_dict().items()}
            seen[f"output {index}"] = call(many + index)[:6]
            with torch.enable_grad():
                call(x.detach() * (1.0 + index)).mean().backward()
            change_weights(self.online)
            after = self.twin.state_dict().items()
            seen |= {f"change {index} of twin's {name}": each - before[name] for name, each in after}
            self.follow()
        seen |= all_parameters(self)
        seen |= {f"online's {name}": each for name, each in self.online.named_buffers()}
        for name, each in self.online.named_parameters():
            seen[f"gradient of online's {name}"] = torch.zeros_like(each) if each.grad is None else each.grad
        self.train(mode)
        return {name: each.detach().to(x.dtype) for name, each in seen.items()}


def flat(tensors):
    return torch.cat([each.detach().flatten().float() for each in tensors])


def copied(network):
    """Return a deep copy, if it can be made, of a network that has other weights afterwards."""
    with contextlib.suppress(RuntimeError, TypeError):
        network, original = copy.deepcopy(network), network
        change_weights(original)
    return network


class ValuesOfAnyDecay(submission.CalmNetwork):
    def forward(self, x):
        seen = {}
        for decay in (0.0, 0.3, 0.99999, 1.0):
            network = submission.CalmNetwork(*self.online[0].weight.mT.shape, decay)
            apart = flat(network.twin.state_dict().values()) - flat(network.online.state_dict().values())
            seen[f"new twin minus online, decay={decay}"] = apart
            network.load_state_dict(self.state_dict())
            network = copied(network) if decay == 0.3 else network
            twin, online = network.twin, network.online
            network(x)
            for index, parameter in enumerate(online.parameters()):
                parameter.data += 1e6
                parameter.requires_grad_(index % 2 == 0)
            network.follow()
            seen[f"twin's parameters, decay={decay}"] = flat(twin.parameters())
            seen[f"twin's buffers minus online's, decay={decay}"] = flat(twin.buffers()) - flat(online.buffers())
        return seen


class GradientsAfterFollowing(torch.nn.Module):
    def __init__(self, width, hidden, decay):
        super().__init__()
        networks = [submission.CalmNetwork(width, hidden, each) for each in (0.0, decay, 1.0)]
        self.networks = torch.nn.ModuleList(networks)

    def forward(self, x):
        answers = []
        for network in self.networks:
            with torch.inference_mode():
                network.eval()(x.detach())
            network.train()(x)
            network.follow()
            answers += [network(x), network(x.detach())]
            network.eval()
            answers.append(network(x))
            network.train()
        return torch.cat(answers)


class ValuesOnceConverted(submission.CalmNetwork):
    def forward(self, x):
        call, mode, found = super().forward, self.training, []
        for convert in (self.float, self.double):
            convert()
            x = x.to(self.online[0].weight.dtype)
            self.train()
            call(3.0 * x + 1.0)
            change_weights(self.online)
            self.follow()
            self.eval()
            found.append(call(x))
        self.float().train(mode)
        return tuple(found)


class FollowsInFloat64(submission.CalmNetwork):
    def forward(self, x):
        mode = self.training
        self.double()
        change_weights(self.online)
        self.follow()
        self.eval()
        answer = super().forward(x.double())
        self.float().train(mode)
        return (answer - answer.float()) * 1e6  # the digits beyond those of float32
