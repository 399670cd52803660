# A service of your own around load(FOLDER, workers=N). Build it in a folder with:
#   wheels/      a wheel of zooport: pip wheel --no-deps --wheel-dir wheels PATH_OF_THE_CHECKOUT
#   deployment/  what zooport deploy wrote
#   service.py   your application, which binds to 0.0.0.0:8080, as a container has to
#   probe.py     sends an image to it, and exits with 0 if the answer is right, or if the service is full and says so
# Not built by the tests of zooport.
FROM python:3.11-slim

WORKDIR /srv
COPY wheels /tmp/wheels
RUN pip install --no-cache-dir /tmp/wheels/*.whl && rm -r /tmp/wheels
COPY deployment deployment
# the self-test: a machine that computes something else ends the build
RUN ["zooport", "check", "deployment"]
COPY service.py probe.py ./

RUN useradd --no-create-home service
USER service
ENV OMP_NUM_THREADS=1
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=20s --start-period=60s --retries=1 CMD ["python", "probe.py"]
STOPSIGNAL SIGTERM
CMD ["python", "service.py"]
