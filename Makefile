# Every target sets up what it needs: a virtual environment in .venv with the package and its tools.
PYTHON ?= python3
VENV   := .venv
PY     := $(VENV)/bin/python
# Stamps: the extra of that name is installed. The demo and the site need less than the rest, and take what is there.
READY  := $(VENV)/.ready-dev
DEMO   := $(or $(wildcard $(READY)),$(VENV)/.ready-demo)
DOCS   := $(or $(wildcard $(READY)),$(VENV)/.ready-docs)

# test-core, test-spark and test-processes are parts of test and of test-all.
.PHONY: test-core test-spark test-processes archive help java services demo tour test test-all test-oldest soak lint format docs bench figures papers constraints clean
.DEFAULT_GOAL := help

help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-11s %s\n", $$1, $$2}'

$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "slidewise needs Python 3.11 or newer, and $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12"; exit 1; }
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV) || \
	  { echo "$(PYTHON) cannot make virtual environments: install its venv module (Debian: apt-get install python3-venv)"; exit 1; }

$(VENV)/.ready-%: pyproject.toml constraints.txt | $(PY)
	@echo "installing what $* needs into $(VENV) (once)"
	@$(PY) -m pip install --disable-pip-version-check -c constraints.txt -e '.[$*]'
	@touch $@

# Spark runs on Java 17 or newer.
java:
	@found=$$("$${JAVA_HOME:+$$JAVA_HOME/bin/}java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -n 1); \
	if [ "$${found:-0}" -ge 17 ]; then exit 0; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "installing Java 17, which Spark needs (once)"; \
	  { apt-get update && apt-get install -y --no-install-recommends openjdk-17-jre-headless; } > /dev/null || \
	    { echo "apt-get could not install openjdk-17-jre-headless: install Java 17 or newer, and set JAVA_HOME"; exit 1; }; \
	else \
	  echo "Spark needs Java 17 or newer, and $${found:+only Java }$${found:-none} was found: install it (Debian: apt-get install openjdk-17-jre-headless), and set JAVA_HOME"; exit 1; \
	fi

# A browser, and PostgreSQL with its driver: tests that need one of them are left out, and say so, where it is missing.
SERVICES := $(if $(shell command -v chromium),,chromium) \
            $(if $(wildcard /usr/lib/postgresql/*/bin/initdb),,postgresql) \
            $(if $(wildcard /usr/share/java/postgresql.jar),,libpostgresql-jdbc-java)
services: | java  # after it: only one apt-get runs at a time
	@missing="$(strip $(SERVICES))"; \
	if [ -z "$$missing" ]; then exit 0; \
	elif [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	  echo "installing $$missing, for the tests of sinks and of the live page (once)"; \
	  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends $$missing; } > /dev/null || \
	    echo "apt-get could not install $$missing: the tests that need it are left out"; \
	else echo "missing here: $$missing. The tests that need it are left out"; fi

demo: $(DEMO) java  ## features of 200,000 events on a local Spark: a table, a picture, and the same as a stream (ROWS=2M: the long one)
	@$(PY) -m examples.demo $(if $(ROWS),--rows $(ROWS))

tour: $(READY)  ## a tour of the core in the terminal
	@$(PY) -m examples.tour

# JVMs of tests live for seconds: they load classes from an archive, and go without Java's second compiler.
CLASSES := $(VENV)/spark-classes.jsa
SHORT_LIVED := -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
$(CLASSES): $(READY) | java
	@echo "writing an archive of Spark's classes, from which the tests start faster (once)"
	@SPARK_SUBMIT_OPTS="$(SHORT_LIVED)" PYTHONPATH=tests $(PY) -m support.share_classes $@ > $@.log 2>&1 || \
	  { echo "no archive was written ($@.log says why): the tests start Spark without it"; touch $@; }
archive: $(CLASSES)
test test-all: export SPARK_SUBMIT_OPTS = $(SHORT_LIVED) -XX:SharedArchiveFile=$(abspath $(CLASSES)) -Xlog:disable

# Side by side. The tests of Spark are many enough for two processes with a Spark each in test-all only.
SPARKS := 0
PARTS  := @$(MAKE) --no-print-directory --jobs=3 test-core test-spark test-processes
PYTEST := $(PY) -m pytest --durations=10
FULL   := --hypothesis-profile=full -m

# Most of it runs kernels as plain Python: to compile them would take longer than to run the tests.
test: $(READY) java $(CLASSES)  ## the quick tier: every capability, in five minutes
	$(PARTS) KERNELS=plain

# AFTER=test leaves out what `make test` has just run; without it, all of that is run compiled as well.
test-all: $(READY) java services $(CLASSES)  ## all tests: every combination, and more random cases
	$(PARTS) SPARKS=2 TIER="$(FULL) 'not soak$(if $(AFTER), and not once)'"

# The examples of src last: by then their kernels have been compiled for tests.
SHARED = -n 2 --dist worksteal
CORE = $(SHARED) tests src --ignore=tests/spark $(addprefix --ignore=,$(PIPELINES))
PLAIN := NUMBA_DISABLE_JIT=1
# To collect all files for the few tests that need the compiler would take half as long as those.
COMPILED = tests/compiled $(filter-out $(addsuffix %,$(PIPELINES)),$(shell grep -rl 'mark[.]compiled' tests --include='test_*.py'))

# Nice: Spark's tests, which go on one after the other, are the last to end.
test-core: $(READY)
ifeq ($(KERNELS),plain)
	@$(PLAIN) nice $(PYTEST) $(CORE)
	@nice $(PYTEST) -m 'compiled and not full and not soak' $(SHARED) $(COMPILED)
else
	@nice $(PYTEST) $(TIER) $(CORE)
	@$(PLAIN) $(PYTEST) $(TIER) -n 2 tests/compiled
endif

# Those that start a Spark of their own, and those whose session has other settings.
PIPELINES := tests/pipeline tests/cli
PROCESSES := tests/spark/test_cluster.py tests/spark/streams/test_crash.py

# Every aggregation, the sharing of work, and streams with the kernels that users run: in the full tier, all of these files.
EXECUTORS := tests/spark/test_against_spark.py tests/spark/test_executor_task.py tests/spark/test_own_parameters_spark.py \
             tests/spark/test_shipping.py tests/spark/streams/test_pipeline.py tests/spark/streams/test_query.py \
             tests/spark/streams/test_steady_load.py
ON_SPARK = $(PYTEST) -n $(SPARKS) --dist loadfile

test-spark: $(READY) java
ifeq ($(KERNELS),plain)
	@$(PLAIN) $(ON_SPARK) tests/spark $(addprefix --ignore=,$(PROCESSES))
else
	@$(PLAIN) $(ON_SPARK) $(TIER) tests/spark $(addprefix --ignore=,$(PROCESSES) $(EXECUTORS))
	@$(ON_SPARK) $(FULL) 'not soak' $(EXECUTORS)
endif

test-processes: $(READY) java
	@$(PLAIN) $(PYTEST) $(TIER) $(PROCESSES) $(PIPELINES)

# The oldest versions that pyproject.toml allows, together, in an environment of their own.
OLDEST := .venv-oldest
$(OLDEST)/.ready: pyproject.toml constraints-oldest.txt
	@echo "setting up $(OLDEST) (once)"
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --disable-pip-version-check -c constraints-oldest.txt -e '.[dev]'
	@touch $@

# What depends on other libraries: frames of all kinds, kernels as numba compiles them, and PySpark's private names.
OLD_FRAMES := tests/columns/test_accessors.py tests/columns/test_container_kinds.py tests/columns/test_duckdb.py \
              tests/columns/test_index_levels.py tests/columns/test_interchange.py tests/columns/test_types.py
OLD_SPARK  := tests/spark/test_drop_in.py tests/spark/test_migration.py tests/spark/test_pyspark_spelling.py
# Old versions have warnings of their own: PySpark 4.1 leaves sockets open.
OLD_PYTEST := $(OLDEST)/bin/python -m pytest -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning

test-oldest: $(OLDEST)/.ready java  ## frames, kernels and the drop-in for PySpark with the oldest versions that pyproject.toml allows
	@$(PLAIN) $(OLD_PYTEST) $(OLD_FRAMES)
	@$(OLD_PYTEST) tests/compiled tests/test_docs.py
	@$(PLAIN) $(OLD_PYTEST) $(OLD_SPARK)

soak: $(READY) java  ## what takes minutes: a stream that is killed 20 times, and long ones
	@$(PY) -m pytest --hypothesis-profile=soak -m soak -rP tests

lint: $(READY)  ## style, types, and the layers of imports
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(VENV)/bin/lint-imports --no-logo

format: $(READY)  ## rewrite the sources in the project's style
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

docs: $(DOCS)  ## the documentation as a site with search and the API reference, in site/
	@$(PY) docs/build_site.py

bench: $(READY)  ## the benchmarks, with peers in the same run
	@$(PY) -m benchmarks.swag
	@$(PY) -m benchmarks.events
	@$(PY) -m benchmarks.window_keys
	@$(PY) -m benchmarks.first_call
	@$(PY) -m benchmarks.columns
	@$(PY) -m benchmarks.larger_than_memory
	@$(PY) -m benchmarks.spark_batch
	@$(PY) -m benchmarks.spark_streaming

figures: $(READY) java  ## the benchmarks again, into docs/benchmarks.md and the README, an hour or two (ONLY="events columns")
	@$(PY) -m benchmarks.figures $(if $(ONLY),--only $(ONLY))

papers: $(READY) java  ## the papers' experiments, as a report in papers-output, 20 minutes (QUICK=1: 4; ONLY="daba ra-fig6")
	@$(PY) -m benchmarks.papers $(if $(QUICK),--quick) $(if $(ONLY),--only $(ONLY)) $(if $(BESIDE),--beside $(BESIDE))

constraints:  ## renew constraints.txt: the newest versions that pyproject.toml allows, to be tested
	@fresh=$$(mktemp -d) && trap 'rm -rf "$$fresh"' EXIT && \
	  $(PYTHON) -m venv "$$fresh" && "$$fresh/bin/pip" install --disable-pip-version-check -e '.[dev]' && \
	  { grep '^#' constraints.txt; "$$fresh/bin/pip" freeze --exclude-editable; } > "$$fresh/constraints.txt" && \
	  cp "$$fresh/constraints.txt" constraints.txt

clean:  ## remove what the other targets made
	rm -rf $(VENV) $(OLDEST) site demo-output papers-output .pytest_cache .hypothesis .mypy_cache .ruff_cache
