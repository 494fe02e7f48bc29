# Sets everything up by itself; needs only make and Python 3.11 or newer, with venv.

.DEFAULT_GOAL := help
.PHONY: help demo demo-system test lint bench chaos coverage faults mutants snapshots schema tutorials docs vectors lock lowest release clean

# Modules are compiled once, and not by each of the many processes that tests start, whatever the machine says.
unexport PYTHONDONTWRITEBYTECODE

VENV := .venv
BIN := $(VENV)/bin
# Packages that are measured beside this one, each in an environment of its own.
PEERS := $(patsubst bench/peers/%.in,%,$(wildcard bench/peers/*.in))

# The first Python on the path that fits and can make environments; PYTHON=... chooses another.
PYTHON ?= $(shell for python in python3 python3.15 python3.14 python3.13 python3.12 python3.11; do \
	if $$python -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$python; break; fi; done)

help:
	@echo "make demo      obfuscate 1.7 million people, estimate, compare with the truth (writes out/census)"
	@echo "make demo-system  a collector, 300 simulated devices, a browser that takes the survey, the page of its estimate (pictures in out/system)"
	@echo "make test      run the tests, all of them, with the same seeds every time"
	@echo "make lint      check format, style, types, walls between rooms, words and sizes"
	@echo "make bench     measure speed and memory beside other packages (writes docs/evidence/performance.md)"
	@echo "make chaos     kill a collector at its work, fill its disk, set its clock, and count what is left (some minutes)"
	@echo "make coverage  how often intervals of every method hold, and standard errors (writes docs/evidence/coverage.md)"
	@echo "make faults    replace functions of the package by wrong ones, and see that tests fail (some minutes)"
	@echo "make mutants   change the files of the promise in many places, and count the changes that tests find (SAMPLE=40: a few minutes)"
	@echo "make snapshots write what verbs print anew (tests/snapshots), to be read before it is committed"
	@echo "make schema    write the schema of plans anew (docs/reference/plan.schema.json)"
	@echo "make tutorials run the notebooks of docs/tutorials and keep their results"
	@echo "make docs      build the site of the documents (out/site/index.html); nothing in it is loaded from the net"
	@echo "make vectors   write what devices in every language must reproduce (js/vectors)"
	@echo "make lock      resolve the locked requirements anew (needs uv)"
	@echo "make lowest    run some tests with the lowest versions that pyproject.toml names, on Python 3.11 (needs uv)"
	@echo "make release   make archives, checksums, SBOM and provenance twice (in dist), and print what people do"
	@echo "make clean     remove what these commands made"

$(VENV)/python:
	@test -n "$(PYTHON)" || { echo "discreet needs Python 3.11 or newer, with its modules venv and ensurepip (Debian: apt-get install python3-venv)."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# pip is not quiet: it shows how far each download is.
$(VENV)/run: $(VENV)/python requirements/run.txt pyproject.toml papers/pyproject.toml
	@echo "Installing discreet and what it needs into $(VENV): 215 MB to download, 760 MB on disk, a minute or two."
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/build.txt -r requirements/run.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e papers
	@touch $@

$(VENV)/dev: $(VENV)/python requirements/dev.txt pyproject.toml papers/pyproject.toml
	@echo "Installing what developing and testing needs into $(VENV); this takes some minutes."
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/build.txt -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e papers
	@touch $@ $(VENV)/run

demo: $(VENV)/run
	@echo "Obfuscating 1.7 million people by several mechanisms; the first time kernels are compiled, which takes half a minute."
	$(BIN)/discreet simulate examples/census.toml --force

demo-system: $(VENV)/dev
	@echo "A collector takes reports for a minute, seals them, and their estimate is shown beside the truth."
	$(BIN)/python tools/demo_system.py

# First collected once: of a fresh tree each worker would compile all modules and tests at the same time.
test: $(VENV)/dev
	-@$(BIN)/python -m pytest -n 0 -qq --collect-only > /dev/null
	$(BIN)/python -m pytest

lint: $(VENV)/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/house.py

# GROUPS="speed scale" measures some groups only, QUICK=1 small sizes without writing the page.
bench: $(VENV)/dev $(PEERS:%=.venv-peers/%.ready)
	$(BIN)/python -m bench $(GROUPS) $(if $(QUICK),--quick)

# KILLS=200 kills as often beside verbs, and a tenth as often within each kind of work.
KILLS ?= 100
chaos: $(VENV)/dev
	$(BIN)/python tools/measure_collector.py kills --kills $(KILLS)
	for work in sealing purging backup service; do \
		$(BIN)/python tools/measure_collector.py kills --work $$work --kills $$(($(KILLS) / 10)) || exit 1; done
	$(BIN)/python -m pytest -n 0 tests/collector/test_collector_faults.py tests/collector/test_clock.py

# What does not install is skipped: the page then quotes the log, and the next `make bench` tries again.
.venv-peers/%.ready: bench/peers/%.txt $(VENV)/python
	@mkdir -p .venv-peers && rm -rf .venv-peers/$* $@
	@echo "Installing $* into .venv-peers/$*, to measure beside it."
	@if { $(PYTHON) -m venv .venv-peers/$* && .venv-peers/$*/bin/python -m pip install --quiet \
		--disable-pip-version-check --require-hashes -r $<; } 2> .venv-peers/$*.log; \
		then touch $@; else echo "$* did not install; it is skipped (.venv-peers/$*.log says why)."; fi

coverage: $(VENV)/dev
	$(BIN)/python tools/measure_coverage.py
	$(BIN)/python tools/measure_sums.py
	$(BIN)/python tools/measure_limits.py
	$(BIN)/python tools/measure_tests.py
	$(BIN)/python tools/measure_surveys.py

faults: $(VENV)/dev
	$(BIN)/python tools/plant_faults.py $(FAULTS)

$(VENV)/mutants: $(VENV)/dev requirements/mutants.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/mutants.txt
	@touch $@

# SAMPLE=40 tries 40 mutants of each file, always the same ones; FILES=checks tries those of one file.
mutants: $(VENV)/mutants
	$(BIN)/python tools/mutants.py $(if $(SAMPLE),--sample $(SAMPLE)) $(FILES)

snapshots: $(VENV)/dev
	SNAPSHOTS=write $(BIN)/python -m pytest -n 0 -q tests/cli/test_snapshots.py

schema: $(VENV)/dev
	$(BIN)/python tools/write_schema.py

tutorials: $(VENV)/dev
	$(BIN)/python tools/run_tutorials.py

# What Sphinx needs, beside what is there already: the versions are those of the other locks.
$(VENV)/docs: $(VENV)/python requirements/docs.txt
	@echo "Installing what building the site needs into $(VENV)."
	$(BIN)/python -m pip install --disable-pip-version-check --require-hashes -r requirements/build.txt -r requirements/docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e papers
	@touch $@

docs: $(VENV)/docs
	rm -rf out/site docs/reference/generated
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --jobs auto --doctree-dir out/doctrees docs out/site
	@echo "Open out/site/index.html."

vectors: $(VENV)/dev
	$(BIN)/python tools/make_vectors.py

lock:
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet requirements/build.in -o requirements/build.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet --extra fast --extra plot pyproject.toml -o requirements/run.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet --extra serve pyproject.toml -o requirements/serve.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet --all-extras --group dev pyproject.toml -o requirements/dev.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet --extra plot --extra pandas --extra polars --extra serve -c requirements/build.txt -c requirements/dev.txt requirements/docs.in pyproject.toml -o requirements/docs.txt
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet -c requirements/dev.txt requirements/mutants.in -o requirements/mutants.txt
	for peer in $(PEERS); do uv pip compile --universal --python-version 3.11 --generate-hashes --no-header --no-annotate --no-strip-extras --quiet \
		bench/peers/$$peer.in -o bench/peers/$$peer.txt || exit 1; done

# Tests that read, draw, count, estimate and write, and need no other program.
LOWEST := tests/core tests/kernels/test_plain.py tests/formats/test_plan.py tests/formats/test_round_trips.py
lowest:
	rm -rf .venv-lowest && uv venv --quiet --python 3.11 .venv-lowest
	uv pip compile --resolution lowest-direct --python-version 3.11 --no-header --no-annotate --quiet \
		--extra fast --extra plot --extra pandas --extra polars --extra url --extra serve pyproject.toml -o .venv-lowest/lowest.txt
	uv pip install --quiet --python .venv-lowest/bin/python -r .venv-lowest/lowest.txt hypothesis mpmath pytest pytest-randomly pytest-xdist
	# Left out: msgspec before 0.22 writes the alternatives of a schema in another order.
	PYTHONPATH=src:. .venv-lowest/bin/python -m pytest -n 2 $(LOWEST) -k "not published_schema"

# With what builds from the locked requirements, and nothing else.
release: $(VENV)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/build.txt
	$(BIN)/python tools/release.py

clean:
	rm -rf $(VENV) .venv-peers .venv-lowest out bench/out dist
