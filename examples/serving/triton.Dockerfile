# Triton with a repository that zooport triton wrote. Build it in a folder with:
#   wheels/      a wheel of zooport: pip wheel --no-deps --wheel-dir wheels PATH_OF_THE_CHECKOUT
#   models/      the repository
#   street.jpg   an image for the probe
#   probe.py     that of this folder
# TRITON: NVIDIA's image of tritonserver with its tag, of a release whose Python is 3.11 or later:
#   docker build --build-arg TRITON=... --file triton.Dockerfile .
# The server listens on all addresses of the container, as it has to: publish its ports on those of the machine that
# you mean, and give it shared memory, through which the Python models get their tensors:
#   docker run --shm-size=1g -p 127.0.0.1:8000:8000 -p 127.0.0.1:8001:8001 -p 127.0.0.1:8002:8002 IMAGE
# Not built by the tests of zooport.
ARG TRITON
FROM ${TRITON}

WORKDIR /srv
COPY wheels /tmp/wheels
ENV PIP_BREAK_SYSTEM_PACKAGES=1
RUN wheel="$(ls /tmp/wheels/*.whl)" && pip install --no-cache-dir "${wheel}[serve]" && rm -r /tmp/wheels
COPY models models
COPY street.jpg probe.py ./

RUN useradd --no-create-home triton
USER triton
ENV OMP_NUM_THREADS=1
EXPOSE 8000 8001 8002
# an inference: /v2/health/ready stays 200 when a process of the model is dead. One failure suffices: full is alive.
# The timeout is longer than a request may wait, which is --timeout of zooport triton, in each model of an ensemble
HEALTHCHECK --interval=30s --timeout=40s --start-period=120s --retries=1 \
    CMD ["python3", "probe.py", "http://localhost:8000/cars", "street.jpg"]
STOPSIGNAL SIGTERM
CMD ["tritonserver", "--model-repository=models", "--exit-timeout-secs=25"]
