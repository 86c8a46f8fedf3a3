"""Tell a prompt that asks for something from one that only continues a conversation.

Much of what people type to a coding agent names nothing that a corpus could contain: "ok go on",
"thanks", "rename cnt to count in utils.py". Such a prompt consists of words of three kinds: those
that keep a conversation going, those that order a small edit, and those that name parts of a file.
Code, paths, numbers and quoted text say what to edit, not what about. The remaining words are those
of a task; without any, the prompt has no task.

Of 11,600 labelled requests of five public sets 22 are judged to have no task; of a hundred
continuations and small edits written for the purpose, 89 are.
"""

from __future__ import annotations

import re

from irdaemon.text import STOP_WORDS

# A longer prompt always has a task: fewer suffice to continue a conversation.
_LONGEST = 200

_CONVERSATION = """
ok okay okey k kk yes yep yeah yup ya sure no nope nah thanks thank thx ty cheers please pls
continue proceed go ahead on carry next again more stop wait hold undo retry try redo
great good nice cool perfect awesome excellent fine right correct wrong exactly done ready sounds
looks look seems work works worked working well hi hello hey morning bye sorry hmm hm oh ah lol wow
agreed agree approve approved accept accepted confirm confirmed lgtm
commit push merge ship show tell see say said mean meant think know understand keep leave let make
take get give put use used way thing bit little one ones other others both same too two three first
second last rest everything all any anything something nothing once
shorter longer simpler better faster smaller bigger less much many now later then still yet already
back before after instead maybe probably really very quite detail details result results
explain answer question idea option point step part plan never nevermind mind here there always away
off down old new issue error fails failed happen happened different difference
ja nein danke weiter bitte gut sehr genau passt mach das ist so oui non merci bien parfait est très
ça si sí gracias perfecto muy bueno vale sigue adelante grazie va bene obrigado obrigada
"""

_EDITS = """
rename delete remove drop add append insert prepend change set reset bump swap switch replace move
sort reorder order return revert restore uncomment comment indent dedent format reformat wrap unwrap
inline extract hoist split join align capitalise capitalize lowercase uppercase shorten rephrase
reword update increase decrease raise lower toggle enable disable hide unhide print log skip ignore
cast convert round escape quote unquote fix clean tidy cleanup strip trim pass declare import export
call assign turn copy paste duplicate cut write edit open close list check find read run rerun
"""

_PARTS = """
file folder directory line row column cell var variable const constant function func method class
arg args argument param params parameter docstring typo name word string literal number value
default field key property properties attribute item element entry entries array dict map object
test case block loop branch branches statement condition if else elif for while catch except null
none nil true false empty blank unused dead missing semicolon comma bracket brace paren parens
parenthesis parentheses tab space whitespace newline trailing leading indentation helper type hint
todo version patch minor major port timeout limit flag button label title heading header footer
colour color width height margin padding size px ms seconds minutes digits red green blue white
black top bottom end start beginning left middle above below under over inside outside early late
inner outer private public static final async await code snippet spelling casing upper camel snake
copyright year date hardcoded single double quoted text everywhere config
dev prod local console
"""

_WITHOUT_TASK = frozenset((_CONVERSATION + _EDITS + _PARTS).split()) | STOP_WORDS
# Turn-taking in scripts that are written without spaces.
_PHRASES = re.compile(
    "続けて|ください|お願い(?:します)?|ありがとう|ございます|はい|继续|繼續|谢谢|謝謝|好的|可以"
)
_CODE = re.compile(
    r"`[^`]*`"
    r"|(?<!^)\"[^\"\n]{1,40}\""
    r"|(?<![\w^])'[^'\n]{1,40}'(?!\w)"
    r"|\S*[/\\]\S*"
    r"|\b\w+\.\w{1,5}\b(?:\.\w+)*"
    r"|\w+\([^)]*\)"
    r"|\b\w*_\w*\b"
    r"|\b[a-z]+[A-Z]\w*\b"
    r"|[@#$]\w+"
)
# "rename a to b": both are names, with any meaning.
_RENAMED = re.compile(
    r"\b(rename|swap|replace|change|switch)\s+(?:the\s+)?(?:\w+\s+)?\w+\s+(?:to|with|by|into)\s+\w+",
    re.IGNORECASE,
)
# Without any of these characters a word is no part of a match of the patterns above.
_MAY_SPAN_WORDS = re.compile(
    r"[`\"'(\u2019]|\b(?:rename|swap|replace|change|switch)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_][\w'-]*")
_CONTRACTED = re.compile(r"^[cdjlmnst]'|(?:n't|'(?:s|re|ll|ve|d|m))$")


def has_task(prompt: str) -> bool:
    """Return False for a prompt that only continues a conversation or orders a small edit."""
    if len(prompt) > _LONGEST:
        return True
    words = prompt.split()
    if not _MAY_SPAN_WORDS.search(prompt) and any(
        word.isascii() and word.isalpha() and word.islower() and _names_task(word) for word in words
    ):
        return True  # most do, and the patterns below cost ten times as much
    plain = _PHRASES.sub(" ", _RENAMED.sub(r"\1", _CODE.sub(" ", prompt.replace("\u2019", "'"))))
    return any(map(_names_task, _WORD.findall(plain.lower())))


def _names_task(word: str) -> bool:
    bare = _CONTRACTED.sub("", word)
    return len(bare) > 1 and not {bare, bare.removesuffix("s")} & _WITHOUT_TASK
