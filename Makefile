# Each target sets up what it needs by itself, and is quick the second time. pip compiles nothing (--no-compile): Python
# compiles what is imported, and keeps it, whatever the environment says, since tests and tools start many processes.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV := .venv
LOWER := .venv-lower
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_ALL := $(VENV)/.installed-all
INSTALLED_DOCS := $(VENV)/.installed-docs
LOWER_INSTALLED := $(LOWER)/.installed
# The devkit that the metric of nuScenes is tested against. It pins numpy below 2, and runs with 2, so it is installed
# without what it depends on; these two of that are what the test needs and nothing else brings.
DEVKIT := 'nuscenes-devkit>=1.2'
DEVKIT_NEEDS := 'pyquaternion>=0.9.9' 'cachetools>=5'
# A server of S3 on 127.0.0.1, for the test of s3:// (tests/predicting/test_ray_s3.py). Its extra "server" brings fifty
# packages for other services of the cloud; flask and flask-cors are what that of S3 needs.
S3_SERVER := 'moto[s3]>=5.2' 'flask>=3' 'flask-cors>=5'
# NVIDIA's own server, for tests/backends/serving/test_triton_server.py, from a wheel of 55 MB (145 MB unpacked). It is
# unpacked and not installed, because it asks for numpy 1; nothing of its Python code is used. Its server is for Linux on
# x86-64: elsewhere these tests are skipped.
TRITON_WHEEL := nvidia-pytriton==0.7.0
TRITON := $(VENV)/triton
ifeq ($(shell uname -sm),Linux x86_64)
TRITON_UNPACKED := $(TRITON)/.unpacked
test-all: export ZOOPORT_TRITON ?= $(abspath $(TRITON))
endif
CONFIGS := configs/segmentation/fcn_r18_digits.py \
           configs/segmentation/fcn_r18-slide_digits.py \
           configs/detection/faster-rcnn_r18-fpn_digits.py

# Where there is a screen, the demo opens its page.
DESKTOP = $(or $(DISPLAY),$(WAYLAND_DISPLAY),$(filter Darwin,$(shell uname)))

# Two test processes on two cores: one thread each is faster than two that wait for each other. worksteal leaves the
# tests of a module together, so that each export which they share is made once.
export OMP_NUM_THREADS_TEST ?= 1
PYTEST = OMP_NUM_THREADS=$(OMP_NUM_THREADS_TEST) $(BIN)/python -m pytest

.PHONY: help setup demo test test-all test-lower gpu gpu-wheels lint docs format clean

help:
	@echo "make demo        deploy, prove and evaluate the shipped models; says where the reports are"
	@echo "make test        the tests of every commit"
	@echo "make test-all    all tests, the slow ones and those that need extra parts included; TESTS=tests/tools: of one folder"
	@echo "make test-lower  the tests at the lower ends of the dependency ranges"
	@echo "make gpu-wheels  packages for a machine with a GPU and no network, in pieces"
	@echo "make gpu         the measurements on a machine with a CUDA device: docs/gpu.md"
	@echo "make lint        ruff, mypy --strict, import-linter"
	@echo "make docs        the documentation site, in site/"
	@echo "make format      let ruff fix what it can"

$(INSTALLED): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) (about two minutes the first time)"
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev]'
	@touch $@

setup: $(INSTALLED)

demo: $(INSTALLED)
	@set -e; for config in $(CONFIGS); do $(BIN)/python tools/deploy.py $$config --backend onnxruntime; done
	@set -e; for config in $(CONFIGS); do \
		$(BIN)/python tools/evaluate.py $$config --backend pytorch onnxruntime --work-dir work_dirs; done
	@echo; $(BIN)/python tools/report.py --zoo work_dirs $(if $(DESKTOP),--open)
	@echo "Deployments, each with report.html and previews/:"
	@ls -d work_dirs/*/*/onnxruntime-fp32
	@echo "PyTorch's detections beside those of the deployment:"
	@ls work_dirs/detection/*/onnxruntime-fp32/previews/*.png | head -n 1

test: $(INSTALLED)
	$(PYTEST) -n 2 --dist worksteal -m "not slow and not tensorrt and not gpu and not libraries and not openmmlab and not scale"

$(INSTALLED_ALL): $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev,tensorrt-rtx,transformers,timm,smp,mmseg,mmdet,scale,ray-serve]'
	@$(BIN)/python -m pip install --quiet --no-compile $(DEVKIT_NEEDS)
	@$(BIN)/python -m pip install --quiet --no-compile --no-deps $(DEVKIT)
	@$(BIN)/python -m pip install --quiet --no-compile $(S3_SERVER)
	@touch $@

$(TRITON)/.unpacked: $(INSTALLED)
	@rm -rf $(TRITON)
	@$(BIN)/python -m pip download --quiet --no-deps --dest $(TRITON) $(TRITON_WHEEL)
	@$(BIN)/python -m zipfile --extract $(TRITON)/*.whl $(TRITON)
	@rm $(TRITON)/*.whl
	@touch $@

test-all: $(INSTALLED_ALL) $(TRITON_UNPACKED)
	ZOOPORT_TEST_ALL=1 $(PYTEST) -n 2 --dist worksteal $(TESTS)

$(LOWER_INSTALLED): pyproject.toml tests/lower_bounds.py
	@test -x $(LOWER)/bin/python || $(PYTHON) -m venv $(LOWER)
	@$(PYTHON) tests/lower_bounds.py pyproject.toml > $(LOWER)/constraints.txt
	@$(LOWER)/bin/python -m pip install --quiet --no-compile --editable '.[test]' --constraint $(LOWER)/constraints.txt
	@touch $@

test-lower: $(LOWER_INSTALLED)
	OMP_NUM_THREADS=1 $(LOWER)/bin/python -m pytest -n 2 --dist worksteal -m "not slow and not tensorrt and not gpu and not libraries and not openmmlab and not scale"

gpu-wheels: $(INSTALLED_ALL)
	$(BIN)/python benchmarks/gpu/wheels.py make

# With the machine's own Python, which has torch for its GPU: nothing can be installed there from a network.
gpu:
	$(PYTHON) benchmarks/gpu/run.py

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/mypy tools/*.py
	MYPYPATH=.:benchmarks $(BIN)/mypy benchmarks/*.py benchmarks/own_model_cases/*.py
	MYPYPATH=.:benchmarks $(BIN)/mypy benchmarks/gpu/*.py benchmarks/gpu/stages/*.py
	MYPYPATH=. $(BIN)/mypy docs/*.py docs/site/*.py
	$(BIN)/mypy examples/serving/*.py
	$(BIN)/mypy --explicit-package-bases tests
	$(BIN)/lint-imports --no-cache

$(INSTALLED_DOCS): $(INSTALLED)
	@$(BIN)/python -m pip install --quiet --no-compile --editable '.[dev,docs]'
	@touch $@

docs: $(INSTALLED_DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf $(VENV) $(LOWER) work_dirs build site *.egg-info
