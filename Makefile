# make run: install into .venv, start the daemon, ask it something.   make test: run the whole suite.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install -q --disable-pip-version-check

.PHONY: help run test test-slow lint bench bench-large bench-build bench-quality bench-daily bench-homes bench-projects bench-prompts pack bench-moments bench-learn bench-library bench-engines bench-paired peer peer-library release-check accept stats clean

help:
	@echo "make run    install into .venv, start the daemon, ask it something"
	@echo "make test   run the whole test suite"
	@echo "make test-slow  run soaks, kill loops and a hundred examples of each property, for an hour"
	@echo "make lint   ruff, its format, and mypy (strict)"
	@echo "make bench  measure against floors and the peer in half an hour, write bench/results/"
	@echo "make bench-large  measure a million records and 100,000 documents, and soak for ten minutes"
	@echo "make bench-build  measure first builds of real-sized skills (ARGS=\"--data DIR\")"
	@echo "make bench-quality  measure answers on labelled sets, beside the peer \`ir\`"
	@echo "make bench-daily  measure what a labelled day of prompts is answered, by group"
	@echo "make bench-homes  measure what labelled homes are answered, asked from their project"
	@echo "make bench-projects  measure the first question in a project, many projects, and a hostile one"
	@echo "make bench-prompts  measure what expected prompts gain, on labelled sets"
	@echo "make pack   check the source of the knowledge pack, pack/*.jsonl, and pack it"
	@echo "make bench-library  ask the same of irdaemon and of Agent Library"
	@echo "make bench-moments  measure the hook's further moments, on generated sessions in the homes"
	@echo "make bench-learn  measure what simulated uses teach, on labelled sets"
	@echo "make bench-engines  measure a generated corpus in memory and in other engines"
	@echo "make bench-paired  compare speed with another version (ARGS=PYTHON_OF_THE_OTHER)"
	@echo "make release-check  build both packages, check their metadata, install and use them by pip, pipx and uv"
	@echo "make stats  print lines of code by room, and what a query and a changed file pass"
	@echo "make accept  try a fresh clone on an empty HOME as a new user does (ARGS=\"--before COMMIT\" upgrades from one)"
	@echo "make clean  undo make run and irc install; your configuration and keys stay (irdaemon uninstall)"

# On a terminal, and before there is a configuration, it asks what to set up. hnswlib is compiled last:
# the first answer needs none. Where wordllama is compiled with it, it does.
run: .venv/.installed $(if $(filter Linux-aarch64,$(shell uname -s)-$(shell uname -m)),.venv/.graph)
	@if $(BIN)/python -c 'import sys; from irclient.terminal.output import can_ask; sys.exit(not can_ask())' \
	  && ! test -e "$$($(BIN)/irdaemon config path)"; then \
	  $(BIN)/irdaemon init --fallback examples/irdaemon.toml; \
	else \
	  $(BIN)/irdaemon start --detach --wait --fallback examples/irdaemon.toml && echo && \
	  echo '$$ irc discover "review a pull request"' && \
	  { $(BIN)/irc discover "review a pull request" || test $$? -eq 1; } && echo && echo "Next:" && \
	  echo "  $(BIN)/irdaemon init                  connect your agents, choose what is indexed" && \
	  echo "  $(BIN)/irc discover \"...\"             ask for what you need" && \
	  echo "  $(BIN)/irc add notes files ~/notes    index a directory of documents" && \
	  echo "  $(BIN)/irc status                     what is indexed, and how fresh it is" && \
	  echo "  $(BIN)/irdaemon service install       start it with your session" && \
	  echo "  $(BIN)/irdaemon stop                  stop it"; \
	fi
	@$(MAKE) --no-print-directory .venv/.graph

# Three at a time, on two cores: much of what the tests do is waiting. In the order of the folders, so
# that the long files of tests/e2e are not the last.
test: .venv/.tested examples/node/node_modules
	@PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder $(ARGS)
	@command -v chromium-headless-shell >/dev/null || command -v chromium >/dev/null || \
	  echo "the page was tried in no browser: sudo apt install chromium-headless-shell"
	@test -e .venv/.graph || echo "no graph was tried: hnswlib is not installed"

# Two runs: what is too slow for the suite, and a hundred examples of each property in place of a few.
test-slow: .venv/.tested
	@$(BIN)/python -m pytest -m slow $(ARGS)
	@$(BIN)/python -m pytest -n 2 tests/unit tests/integration --hypothesis-profile=full $(ARGS)

lint: .venv/.linted
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

bench: .venv/.installed peer
	@$(BIN)/python bench/all.py $(ARGS)

# The soak is a test's, and compares with engines of this process.
bench-large: .venv/.tested peer
	@$(BIN)/python bench/all.py --large $(ARGS)

bench-build: .venv/.installed peer
	@$(BIN)/python bench/build.py $(ARGS)

bench-quality: .venv/.installed peer
	@$(BIN)/python bench/quality.py $(ARGS)

bench-daily: .venv/.installed
	@$(BIN)/python bench/daily.py $(ARGS)

bench-homes: .venv/.installed
	@$(BIN)/python bench/homes.py $(ARGS)

bench-projects: .venv/.installed
	@$(BIN)/python bench/projects.py $(ARGS)

bench-prompts: .venv/.installed
	@$(BIN)/python bench/prompts.py $(ARGS)

pack: .venv/.installed
	@$(BIN)/python pack/build.py $(ARGS)

bench-library: .venv/.installed
	@$(BIN)/python bench/agent_library.py

bench-moments: .venv/.installed
	@$(BIN)/python bench/moments.py $(ARGS)

bench-learn: .venv/.installed
	@$(BIN)/python bench/learn.py $(ARGS)

bench-paired: .venv/.installed
	@$(BIN)/python bench/paired.py $(ARGS)

# One thread for each product of matrices, as in the daemon.
bench-engines: .venv/.tested
	@OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python bench/engines.py $(ARGS) && $(BIN)/python bench/capacity.py

# From the source distribution to an answer, without a directory of this checkout on any path.
release-check: .venv/.releasing
	@$(BIN)/python tests/release_check.py

stats: .venv/.installed
	@$(BIN)/python bench/stats.py $(ARGS)

# A fresh clone of the commit that is checked out: what is not committed is not tried.
accept:
	@$(PYTHON) tests/accept.py $(ARGS)

# What the benchmarks compare with, in an environment of its own.
peer:
	@test -x .bench/peer/bin/python || $(PYTHON) -m venv .bench/peer
	@.bench/peer/bin/python -m pip install -q --disable-pip-version-check "ir==0.1.61" \
	  || { echo "the peer cannot be installed; measuring irdaemon alone" >&2; rm -rf .bench/peer; }

# It loads an SQLite extension, which not every Python can: make peer-library PYTHON=/usr/bin/python3
peer-library:
	@test -x .bench/agent-library/bin/python || $(PYTHON) -m venv .bench/agent-library
	@.bench/agent-library/bin/python -m pip install -q --disable-pip-version-check "agent-library==0.14.3" \
	  || { echo "Agent Library cannot be installed" >&2; rm -rf .bench/agent-library; exit 1; }

# What irdaemon does not take out here it does with `irdaemon uninstall`, which needs .venv.
clean:
	@if [ -x $(BIN)/irdaemon ]; then \
	  config=$$($(BIN)/irdaemon config path); \
	  $(BIN)/irdaemon uninstall --keep-data --yes || exit 1; $(BIN)/irdaemon stop --forget 2>&1 | grep -v "is not running"; \
	  echo "removed: agents' entries, the service, the daemon, what it had indexed and its log"; \
	  echo "left: configuration and keys ($$config, and what lies beside it), managed documents, answers of irdaemon tools, downloaded models, agents' entries in projects"; \
	  echo "      (take the first two out by hand, or by irdaemon uninstall before make clean; in a project: irc uninstall AGENT --project)"; fi
	@rm -rf .venv .bench build client/build *.egg-info client/*.egg-info examples/node/node_modules .pytest_cache .ruff_cache .mypy_cache .hypothesis
	@find irdaemon client tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "removed: .venv and what was built here"

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "irdaemon needs Python 3.11 or later; say which: make run PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { echo "Debian, Ubuntu: sudo apt install python3-venv" >&2; rm -rf .venv; exit 1; }

.venv/.installed: .venv/bin/python setup.py pyproject.toml client/pyproject.toml
	@echo "installing into .venv ..."
	@$(PIP) -e "./client[mcp,web]" -e ".[mcp]"
	@touch $@

# What has no wheel: hnswlib, and for Linux on aarch64 wordllama. Where it is not compiled one line says
# so, and the next run tries again.
.venv/.graph: .venv/.installed
	@if $(BIN)/python -c 'import sys; from importlib.util import find_spec; sys.exit(not all(map(find_spec, ("hnswlib", "wordllama"))))'; \
	  then touch $@; exit 0; fi; \
	if ! { command -v c++ || command -v g++ || command -v clang++; } >/dev/null; then why="there is no C++ compiler"; \
	elif ! $(BIN)/python -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))'; \
	  then why="Python's headers are missing"; \
	else echo "compiling hnswlib, a minute or two ..."; \
	  $(PIP) -e ".[graph,wordllama]" 2>.venv/graph.log && touch $@ && exit 0; why="see .venv/graph.log"; fi; \
	echo "hnswlib is not compiled ($$why): corpora of 50,000 vectors and more are searched more slowly"

# A pip that knows --group.
.venv/.groups: .venv/bin/python
	@$(PIP) "pip>=25.1" && touch $@

.venv/.tested: .venv/.installed .venv/.groups | .venv/.graph
	@$(PIP) -e "./client[mcp,web]" -e ".[image,mcp,pdf]" --group test
	@touch $@

# For the example in another language; its tests are skipped where npm or its registry is not there.
examples/node/node_modules: examples/node/package-lock.json
	@command -v npm >/dev/null || exit 0; \
	  npm ci --prefix $(@D) --no-audit --no-fund --loglevel=error --fetch-retries=1 && touch $@ || rm -rf $@

.venv/.linted: .venv/.tested
	@$(PIP) --group lint
	@touch $@

.venv/.releasing: .venv/.installed .venv/.groups
	@$(PIP) --group release
	@touch $@
