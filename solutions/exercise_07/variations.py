"""Classes that checks build in place of the submission's class."""

import re

import submission
import torch


class ValuesWithScoresOfASubclass(submission.MultiHeadAttention):
    def get_scores(self, query, key):
        return torch.tanh(super().get_scores(query, key))


class SharedScoresAndDetachedWeights(submission.MultiHeadAttention):
    def get_scores(self, query, key):
        first = super().get_scores(query, key)[..., :1]
        return first.expand(-1, -1, -1, query.shape[2])

    def forward(self, **inputs):
        seen, call = super().forward(**inputs), super().forward
        stored = torch.tensor(self.attn.requires_grad)
        self.train()
        with torch.no_grad():
            again = call(**{name: 2 * each for name, each in inputs.items()})
        self.eval()
        return seen, again, stored, self.attn


class ScoresOfASubclassAfterACall(submission.MultiHeadAttention):
    def get_scores(self, query, key):
        scores = super().get_scores(query=query, key=key)
        self.returned = scores.clone(memory_format=torch.contiguous_format)
        self.before = self.returned.detach().clone()
        return self.returned

    def forward(self, mask=None, **vectors):
        found = []
        for dtype in ("bool", "uint8", "int64", "float16", "float32", "float64")[: 1 if mask is None else 6]:
            for is_recorded, is_training in ((True, False), (False, False), (True, True)):
                self.train(is_training)
                given = None if mask is None else mask.to(getattr(torch, dtype), copy=True)
                with torch.set_grad_enabled(is_recorded):
                    output = super().forward(**vectors, mask=given)
                is_kept = mask is None or torch.equal(given, mask.to(given.dtype))
                found.append((output, self.returned.detach() - self.before, is_kept))
        self.eval()
        return found


class RefusalsOfOtherLayouts(submission.MultiHeadAttention):
    def forward(self, **vectors):
        queries, batch, keys = *vectors["query"].shape[:2], len(vectors["key"])
        layout, found = rf"{queries}\D.*{keys}\D.*{batch}|(?i:q.*k.*(b|sampl))", []
        for shape in ((queries, keys, 7), (batch, queries, keys), (queries, keys)):
            message = ""
            try:
                super().forward(**vectors, mask=torch.ones(shape))
            except (ValueError, AssertionError) as error:
                message = re.sub(r"\D{1,20}".join(map(str, shape)), "", str(error), count=1)
            found.append(re.search(layout, message, re.DOTALL) is not None)
        return super().forward(**vectors), found


class ALinearMapCutIntoHeads(submission.MultiHeadAttention):
    def cut_into_heads(self, x):
        found = []
        for cut in (
            submission.PrepareForMultiHeadAttention(d_model=x.shape[-1], heads=3, d_k=5, bias=True),
            submission.PrepareForMultiHeadAttention(x.shape[-1], 3, 5, False),
        ):
            with torch.no_grad():
                for each in cut.parameters():
                    each.copy_(torch.linspace(-1.0, 0.5, each.numel()).view(each.shape))
            found.append(cut(x))
        return found


class ValuesWithLowScoresOfASubclass(submission.MultiHeadAttention):
    def get_scores(self, query, key):
        scores = super().get_scores(query, key)
        steps = torch.arange(1.0, scores.shape[1] + 1, dtype=scores.dtype, device=scores.device)
        return 0 * scores - 1e7 * steps[None, :, None, None]

    def forward(self, *, mask, **vectors):
        second = torch.zeros_like(mask[:1])
        second[:, 1] = True
        return super().forward(**vectors, mask=mask), super().forward(**vectors, mask=second)


class ValuesOfManyAndWide(submission.MultiHeadAttention):
    def forward(self, *, query, key, value, mask):
        vectors = {"query": query, "key": key, "value": value}
        return super().forward(**vectors), super().forward(**vectors, mask=mask)


class WeightsOfATrainingCall(submission.MultiHeadAttention):
    def forward(self, **inputs):
        self.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)  # drops the same weights, whatever was drawn before
            super().forward(**inputs)
        self.eval()
        weights = self.attn.clone()
        return super().forward(**inputs), weights
