"""A model trap: it accepts every right implementation and catches each defect. Spoilers."""

import pytest


@pytest.mark.parametrize(("tokens", "context_length"), [(3, 1), (5, 4)])
def test_a_long_sequence_is_refused(subject, gaussian, tokens, context_length):
    m = subject(4, 6, context_length, 0.0, 2)
    with pytest.raises(ValueError, match=str(context_length)):
        m(gaussian(1, tokens, 4))


def test_verbose_in_the_constructor_is_kept(subject, gaussian, capsys):
    m = subject(4, 6, 8, 0.0, 2, verbose=True)
    capsys.readouterr()
    m(gaussian(1, 3, 4))
    assert capsys.readouterr().out != ""


def test_the_attribute_output_dim(subject):
    m = subject(4, 6, 8, 0.0, 2)
    assert m.output_dim == 6


def test_the_state_dict_loads_into_another_context(subject, gaussian):
    m, longer = subject(4, 6, 5, 0.0, 2), subject(4, 6, 9, 0.0, 2)
    longer.load_state_dict(m.state_dict())
    assert longer(gaussian(1, 9, 4)).shape == (1, 9, 6)
