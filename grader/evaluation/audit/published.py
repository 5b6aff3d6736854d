"""Figures that others published about their benchmarks, and what the kit's own page does not claim.

The figures were read in November 2026. They measure other things on other cases: they stand beside the kit's own
figures and are not compared with them.
"""

from grader.evaluation.audit.records import Published

BY_A_MODEL = "a model judged which fixes are right; read in November 2026"

PUBLISHED = (
    Published(system="SWE-bench Pro", figure="right fixes refused", value="24.0 %", note=BY_A_MODEL),
    Published(system="SWE-bench Pro", figure="wrong fixes passed", value="8.5 %", note=BY_A_MODEL),
    Published(system="DeepSWE", figure="right fixes refused", value="1.1 %", note=BY_A_MODEL),
    Published(system="DeepSWE", figure="wrong fixes passed", value="0.3 %", note=BY_A_MODEL),
    Published(
        system="DeepSWE",
        figure="reference solutions that fail their own tests",
        value="4 of 113",
        note="read in November 2026",
    ),
    Published(
        system="five deep-learning fault benchmarks",
        figure="faults that are realistic",
        value="18.5 %",
        note="arXiv 2412.16336",
    ),
    Published(
        system="five deep-learning fault benchmarks",
        figure="faults that can be reproduced",
        value="52 %",
        note="arXiv 2412.16336",
    ),
    Published(
        system="TrainCheck",
        figure="silent training errors found",
        value="18 of 20",
        note="as its authors report; read in November 2026",
    ),
)

NOT_CLAIMED = (
    "The checks were tuned on every corpus here. The shares do not say how often the kit errs on new cases.",
    "The bounds treat cases as independent draws. Cases of one hunt resemble each other, so the true bounds are wider.",
    "One version of torch ran. Whether verdicts differ between versions was not measured here.",
    "An attack that earned nothing may still have disturbed the machine. The page counts points alone.",
    "Attacks are counted by family. Which layer stopped an attack was not measured.",
    "The time of a grading depends on what else the machine did meanwhile.",
    "No list of earlier escapes and their fixes is kept, so none is shown.",
)
