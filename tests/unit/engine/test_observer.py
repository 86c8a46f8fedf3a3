"""An answer asks of add-ons only what they do."""

from irdaemon.engine.observer import AnswerHooks, Observer


class Judge(Observer):
    def judge_hits(self, hits):
        return [*hits, "judged"]


def test_of_add_ons_those_methods_are_called_that_do_something():
    hooks = AnswerHooks([Observer(), Judge()])
    assert [judge(["hit"]) for judge in hooks.judge_hits] == [["hit", "judged"]]
    others = hooks.note_answer, hooks.make_selector, hooks.may_wait, hooks.find_preferences
    assert not any(others)
