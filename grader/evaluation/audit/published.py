"""Figures that others published about their benchmarks, known escapes, and what the kit's page does not claim.

The figures were read in November 2026. They measure other things on other cases, so the page shows them beside the
kit's own figures without a comparison.
"""

from grader.evaluation.audit.records import Escape, Published

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

KNOWN_ESCAPES = (
    Escape(
        date="2026-11-22",
        escape="38 files with a defect passed every check of their hunts: their sizes and calls were not tried.",
        fix="Checks run at random sizes and in many ways of calling. The files are in the corpus of wrong fixes.",
    ),
    Escape(
        date="2026-11-22",
        escape="Dropout of whole samples passed at some seeds, because only entries above zero were counted.",
        fix="Entries below zero count too; tests/verdicts/test_dropout.py has the case.",
    ),
    Escape(
        date="2026-11-24",
        escape="A worker could report a fault of the kit, and its check then blamed the kit. It earned no points.",
        fix="The check fails, and the message blames nobody.",
    ),
    Escape(
        date="2026-11-24",
        escape="Right code whose softmax is in float32 was refused at some seeds: dropout's gradient seemed wrong.",
        fix="Slopes are also measured over a longer step. Of 300 draws, 7 were refused before and none after.",
    ),
    Escape(
        date="2026-11-24",
        escape="Three hunts have no defect. An evaluation that expects 0 for their starters pays for doing nothing.",
        fix="None: it is their purpose. solutions/EVALUATION.md names them and says how to leave them out.",
    ),
)
"""Errors of the kit that changed points or could have changed them."""

NOT_CLAIMED = (
    "The checks were tuned on every corpus here. The shares do not say how often the kit errs on new cases.",
    "The bounds treat cases as independent draws. Cases of one hunt resemble each other, so the true bounds are wider.",
    "One version of torch ran. Whether verdicts differ between versions was not measured here.",
    "An attack that earned nothing may still have disturbed the machine. The page counts points only.",
    "Attacks are listed under the layer that they aim at. Which layer stopped an attack was not measured.",
    "The time of a grading depends on the load of the machine.",
    "The list of known escapes comes from the kit's history. There may have been others, and there may be more.",
)
