import pytest

from irdaemon.text.languages import is_foreign


@pytest.mark.parametrize(
    "text",
    [
        "wie kann ich die Abfrage schneller machen",
        "comment faire une revue de sécurité du contrat",
        "haz una revisión de seguridad del contrato",
        "レビューをお願いします",
        "écrire des tests",
    ],
)
def test_text_in_another_language_is_told_by_its_function_words_or_script(text):
    assert is_foreign(text)


@pytest.mark.parametrize(
    "text",
    [
        "how do I make the query faster",
        "kubernetes helm chart",
        "the die() call is in the des module",
        "add a café to the list of places",
        "",
        "{'api': 'run'}",
    ],
)
def test_english_and_names_are_not_foreign(text):
    assert not is_foreign(text)
