"""The formats in which authors of public skills say what is typed by who needs them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irdaemon.source.author_prompts import LONGEST, MOST, AuthorPrompts, find_author_prompts
from irdaemon.source.lenient_yaml import load_yaml, parse_strictly

NAMES = ("pdf-forms",)
FILL = "fill in the tax form"
MERGE = "join these scans into one document"
NEAR = "turn this contract into Word"
BOTH = AuthorPrompts((FILL,), (NEAR,))


def of_evals(*values):
    return find_author_prompts(NAMES, {}, values)


def of_front(text, names=NAMES):
    return find_author_prompts(names, load_yaml(text)[0])


@pytest.mark.parametrize(
    "value",
    [
        # A list of queries: trigger-eval(s).json, trigger_eval(s).json.
        [{"query": FILL, "should_trigger": True}, {"query": NEAR, "should_trigger": False}],
        [{"prompt": FILL, "shouldTrigger": "yes"}, {"prompt": NEAR, "shouldTrigger": "no"}],
        # The same below a key, with the skill's name: eval_queries.json, triggers.json.
        {"skill_name": "pdf-forms", "queries": [
            {"id": "T1", "query": FILL, "should_trigger": True, "area": "forms"},
            {"id": "N1", "query": NEAR, "should_trigger": False, "note": "another skill's"}]},
        {"version": 1, "cases": [{"prompt": FILL, "should_activate": True, "rationale": "fits"},
                                 {"prompt": NEAR, "should_activate": False}]},
        # evals.json with what the answer should be, and a kind that says which do not count.
        {"skill_name": "pdf-forms", "evals": [
            {"id": 1, "prompt": FILL, "expected_output": "A filled form", "files": ["a.pdf"],
             "assertions": ["Every field has a value"]},
            {"id": 2, "prompt": NEAR, "category": "non-trigger", "expectations": []}]},
        [{"name": "fill", "prompt": FILL, "expect": ["all fields"], "fail": ["asks twice"]},
         {"name": "near", "prompt": NEAR, "kind": "near_miss"}],
        {"skill": "pdf-forms", "evals": [{"input": FILL, "description": "A form"}],
         "negatives": [NEAR]},
        {"trigger_evals": [{"query": FILL, "expected_behavior": "should trigger"},
                           {"query": NEAR, "expected_behavior": "should NOT trigger"}],
         "output_evals": []},
        {"trigger_tests": {"should_trigger": [FILL], "should_not_trigger": [NEAR]}},
        # Lists by what is to happen: trigger_cases.json, trigger_tests.yaml.
        {"should_trigger": [{"text": FILL, "family": "forms"}],
         "near_neighbor": [{"text": NEAR, "family": "conversion"}],
         "positive_concepts": {"form": ["form", "field"]}, "negative_patterns": ["no pdf"]},
        {"skill": "pdf-forms",
         "should_trigger_prompts": [{"prompt": FILL, "reason": "forms", "confidence": "high"}],
         "should_not_trigger_prompts": [{"prompt": NEAR, "reason": "conversion"}]},
        {"should_activate": [FILL], "should_not_activate": [NEAR]},
        {"must_activate": [{"phrase": FILL, "where": "description"}],
         "near_neighbors": [{"prompt": NEAR, "expect": "skip"}]},
        {"train": [{"prompt": FILL, "expected_skill": "pdf-forms", "should_activate": True}],
         "val": [{"prompt": NEAR, "expected_skill": "pdf-forms", "should_activate": False}]},
        [{"prompt": FILL, "sample_type": "should-trigger", "expected_winner": "pdf-forms"},
         {"prompt": NEAR, "sample_type": "should-not-trigger", "expected_winner": "none"}],
    ],
)  # fmt: skip
def test_every_format_of_an_eval_file_gives_its_prompts_and_its_near_misses(value):
    assert of_evals(value) == BOTH


def test_the_stimuli_of_an_eval_yaml_are_read_by_their_names():
    text = f"""
        name: pdf-forms-eval
        config: {{runs: 3, executor: copilot-sdk}}
        stimuli:
          - name: should_trigger_01
            prompt: {FILL}
            graders: [{{type: prompt, config: {{prompt: Does it fill every field?}}}}]
          - name: should_not_trigger_01
            prompt: {NEAR}
            graders: [{{type: skill-invocation, config: {{disallowed: [pdf-forms]}}}}]
        """
    assert of_evals(parse_strictly(text)) == BOTH


def test_the_tasks_of_an_eval_yaml_are_read_unless_they_are_kept_in_files():
    text = f"""
        version: "1"
        skill: ../SKILL.md
        defaults: {{agent: claude, trials: 5}}
        tasks:
          - {{name: form, instruction: {FILL}, graders: [{{type: llm_rubric, rubric: Fields}}]}}
          - {{name: other, instruction: instruction.md}}
          - "tasks/*.yaml"
        cases: {{files: [evals/cases/a.yaml]}}
        evals: [{{name: x, prompt: prompts/form.md, expected: expected/form.md}}]
        """
    assert of_evals(parse_strictly(text)).prompts == (FILL,)


def test_what_is_expected_of_another_skill_is_left_out():
    grouped = [{"skill": "pdf-forms", "queries": [FILL]}, {"skill": "ocr", "queries": [MERGE]}]
    named = {"evals": [{"query": FILL, "should_trigger": "office:pdf-forms"},
                       {"query": MERGE, "should_trigger": "office:ocr"},
                       {"query": NEAR, "should_trigger": "none"}]}  # fmt: skip
    owned = [{"prompt": FILL}, {"prompt": MERGE, "expected_skill": "ocr", "should_activate": True}]
    assert of_evals(grouped) == of_evals(owned) == AuthorPrompts((FILL,))
    assert of_evals(named) == BOTH
    assert of_evals({"skill_name": "ocr", "evals": [{"prompt": MERGE}]}) == AuthorPrompts()
    assert of_evals({"skill_name": "acme-forms", "evals": [{"prompt": FILL}]}).prompts == (FILL,)


@pytest.mark.parametrize(
    "text",
    [
        f"triggers: [{FILL}, {MERGE}]",
        f"triggers: '{FILL}, {MERGE}'",
        f"metadata:\n  triggers: {FILL}, {MERGE}\n",
        f"metadata:\n  author: acme\n  triggers:\n    - {FILL}\n    - '{MERGE}'\n",
        f"triggers:\n  - phrase: {FILL}\n  - keyword: {MERGE}\n",
        f"triggers:\n  - {{type: keyword, pattern: {FILL}, priority: 9}}\n  - {{pattern: {MERGE}}}",
        f"triggers:\n  - pattern: {FILL}|{MERGE}|form(s)?\n    min_words: 3\n",
        f"triggers:\n  keywords: [{FILL}]\n  phrases: [{MERGE}]\n  files: ['**/*.pdf']\n",
        f"metadata:\n  triggers:\n    files: [a.pdf]\n    keywords: {{primary: [{FILL}, {MERGE}]}}",
        f"examples: [{FILL}, {MERGE}]",
        f"examples:\n  - {{input: {FILL}, output: It}}\n  - {{user: {MERGE}, assistant: Yes}}",
        f'examples: |\n  - "{FILL}"\n  - "{MERGE}"\n',
        f"prompt_examples:\n  - {{prompt: {FILL}, scene: Forms}}\n  - {{prompt: {MERGE}}}\n",
        f"when_to_use: [{FILL}, {MERGE}]",
        f"trigger_phrases: [{FILL}]\nwhen-to-use: [{MERGE}]\n",
    ],
)
def test_every_format_of_front_matter_gives_its_prompts(text):
    assert of_front(text) == AuthorPrompts((FILL, MERGE))


@pytest.mark.parametrize(
    "text",
    [
        f"triggers: {{positive: [{FILL}], negative: [{{prompt: {NEAR}, use_instead: docx}}]}}",
        f"triggers:\n  - phrase: {FILL}\n  - not: {NEAR}\n",
        f"triggers: [{FILL}]\nnegative_triggers: [{NEAR}]\n",
        f"metadata:\n  triggers: [{FILL}]\n  not_triggers: [{NEAR}]\n",
        f"when_to_use: [{FILL}]\nwhen_not_to_use: [{NEAR}]\n",
    ],
)
def test_front_matter_may_state_near_misses(text):
    assert of_front(text) == BOTH


def test_a_text_that_says_when_to_use_an_item_describes_it():
    assert of_front(f"when_to_use: {FILL}\nwhen_not_to_use: {NEAR}") == AuthorPrompts()


@pytest.mark.parametrize(
    "block",
    ["<private>\nmy own tax\n</private>",
     "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n-----END RSA PRIVATE KEY-----"],
)  # fmt: skip
def test_nothing_private_is_split_into_parts_that_nobody_would_recognise(block):
    assert find_author_prompts(NAMES, {"examples": f"{FILL}\n{block}\n"}) == AuthorPrompts()
    (line,) = of_evals([f"{FILL} {block}"]).prompts
    assert line == f"{FILL} {' '.join(block.split())}"


@pytest.mark.parametrize(
    "line",
    ["pdf-forms", "/pdf-forms", "Use the pdf-forms skill", "PDF forms", "please do it", "", "?",
     "prompts/fill.md", "**/*.pdf", "calculate .+ ratio", "form|field"],
)  # fmt: skip
def test_a_line_that_only_names_the_item_or_is_no_prompt_is_left_out(line):
    assert of_evals([line, FILL, {"query": line}]).prompts == (FILL,)


def test_a_prompt_is_one_line_without_the_marks_around_it_and_stands_once():
    lines = ["- fill in\n  the  tax form", '"Fill in the tax form"', "1. “fill in the tax form”"]
    assert of_evals(lines).prompts == (FILL,)
    assert of_evals(["/form a4 please", "merge\x1b[31m\ud800 it"]).prompts == (
        "/form a4 please",
        "merge [31m it",
    )


def test_what_is_prompt_and_near_miss_is_a_prompt_and_near_misses_alone_are_nothing():
    value = {"should_trigger": [FILL], "should_not_trigger": [FILL.upper(), NEAR]}
    assert of_evals(value) == BOTH
    assert of_evals({"should_not_trigger": [NEAR]}) == AuthorPrompts()


def test_so_many_lines_are_kept_and_none_too_long():
    value = {"positive": [f"fill form {n}" for n in range(99)], "negative": ["y " * LONGEST]}
    value["negative"] += [f"print form {n}" for n in range(99)]
    found = of_evals([FILL + " now" * LONGEST], value)
    assert (len(found.prompts), len(found.misses)) == (MOST, MOST)
    assert (found.prompts[0], found.misses[0]) == ("fill form 0", "print form 0")


def test_front_matter_comes_before_eval_files_and_those_in_their_order():
    found = find_author_prompts(NAMES, {"triggers": [FILL]}, [[MERGE], [NEAR]])
    assert found.prompts == (FILL, MERGE, NEAR)


def test_aliases_that_stand_for_millions_of_lines_are_looked_at_a_bounded_number_of_times():
    wide = "{" + ", ".join(f"k{n}: x" for n in range(2_000)) + "}"
    deep = ["a0: &a0 [print the form]"]
    deep += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 20)}]" for n in range(1, 10)]
    text = "\n".join([*deep, f"w: &w {wide}", "evals: [*a9, *a4]", f"cases: [{'*w, ' * 900}*w]"])
    assert len(of_evals(parse_strictly(text)).prompts) <= 1


_PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
_KEYS = st.text() | st.sampled_from(
    ["evals", "prompt", "query", "should_trigger", "should_not_trigger", "skill", "type", "name",
     "triggers", "metadata", "examples", "when_to_use", "pattern", "not", "negative", "expected"]
)  # fmt: skip
_VALUES = st.recursive(
    _PLAIN, lambda inner: st.lists(inner) | st.dictionaries(_KEYS | st.integers(), inner)
)


@given(st.dictionaries(_KEYS, _VALUES), st.lists(_VALUES), st.lists(st.text()))
def test_whatever_an_author_wrote_gives_bounded_lines_and_never_an_error(fields, evals, names):
    found = find_author_prompts(names, fields, evals)
    for lines in (found.prompts, found.misses):
        assert len(lines) <= MOST
        for line in lines:
            assert 1 < len(line) <= LONGEST
            assert line == " ".join(line.split())
            line.encode()
    assert not set(found.prompts) & set(found.misses)
