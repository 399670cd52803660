# A deployment behind Ray Serve, on one machine. Build it in a folder with:
#   wheels/      a wheel of zooport: pip wheel --no-deps --wheel-dir wheels PATH_OF_THE_CHECKOUT
#   deployment/  what zooport deploy wrote
#   street.jpg   an image for the first call and for the health checks
#   serve.yaml   as in docs/serving.md, with host: 0.0.0.0, port: 8000, deployment: /srv/deployment and
#                image: /srv/street.jpg
# Not built by the tests of zooport.
FROM python:3.11-slim

WORKDIR /srv
COPY wheels /tmp/wheels
RUN wheel="$(ls /tmp/wheels/*.whl)" && pip install --no-cache-dir "${wheel}[ray-serve]" && rm -r /tmp/wheels

COPY deployment /srv/deployment
COPY street.jpg serve.yaml /srv/
RUN useradd --create-home service
USER service
# The third one binds Ray's own ports to 127.0.0.1, all but one of each replica: publish port 8000 alone. The last two
# are for HAProxy in place of Ray's own proxy
ENV OMP_NUM_THREADS=1 RAY_USAGE_STATS_ENABLED=0 RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0 \
    RAY_SERVE_ENABLE_HA_PROXY=1 RAY_SERVE_THROUGHPUT_OPTIMIZED=1
EXPOSE 8000
# A page that is not of a replica: /v2/health/ready waits in the queue of requests, and is 503 if that is full. Ray
# Serve finds and replaces dead replicas by itself
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s \
    CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/-/healthz', timeout=15)"]
STOPSIGNAL SIGINT
CMD ["serve", "run", "--address", "local", "serve.yaml"]
