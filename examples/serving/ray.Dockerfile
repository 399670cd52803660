# A machine of a Ray cluster for --engine ray. Build it in a folder with:
#   wheels/      a wheel of zooport: pip wheel --no-deps --wheel-dir wheels PATH_OF_THE_CHECKOUT
# All machines need the same image. A deployment is not part of it: the command ships its files to the actors.
# The first machine runs the command below. The others end with: ray start --address FIRST:6379 --block
# The actors of zooport evaluate also run the PyTorch model: build with --build-arg EXTRAS=evaluate,scale,timm
# or another extra of the model.
# Not built by the tests of zooport.
FROM python:3.11-slim

ARG EXTRAS=scale

WORKDIR /srv
COPY wheels /tmp/wheels
RUN wheel="$(ls /tmp/wheels/*.whl)" && pip install --no-cache-dir "${wheel}[${EXTRAS}]" && rm -r /tmp/wheels

RUN useradd --create-home ray
USER ray
ENV OMP_NUM_THREADS=1
EXPOSE 6379 10001
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s CMD ["ray", "status"]
STOPSIGNAL SIGTERM
CMD ["ray", "start", "--head", "--port=6379", "--block"]
