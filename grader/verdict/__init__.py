"""The one path from a submission to its verdict: outcomes and key -> defects fixed, regressions, score."""
