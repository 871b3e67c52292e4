# docker build -t truco:0.1.0 .                 what runs: no compiler, no root, and nothing written outside /dev/shm
# docker build --target test -t truco-test .    the same packages with the tests, run

FROM python:3.11.14-slim-bookworm AS base
WORKDIR /srv/truco

FROM base AS build
COPY requirements.txt ./
# wheels only: what would need a compiler stops the build
RUN --mount=type=cache,target=/root/.cache/pip \
    python -m venv venv \
    && venv/bin/python -m pip install --only-binary=:all: -r requirements.txt
COPY openapi.yaml ./
COPY service service
RUN venv/bin/python -m compileall -q service

FROM build AS test
# DL3008: whatever curl the base image's Debian has will do
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends curl \
    && rm -rf /var/lib/apt/lists/*
COPY requirements-dev.txt ./
RUN --mount=type=cache,target=/root/.cache/pip \
    venv/bin/python -m pip install -r requirements-dev.txt
COPY . .
RUN venv/bin/python -m pytest -n auto

FROM base AS runtime
COPY --from=build /srv/truco /srv/truco
# TMPDIR: the one place that can be written on a read-only root without a mount
ENV PATH=/srv/truco/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    TMPDIR=/dev/shm \
    HOST=0.0.0.0 \
    PORT=8000 \
    WEB_CONCURRENCY=2
USER 10001:10001
# 9100: metrics, where METRICS_PORT=9100 is set
EXPOSE 8000 9100
HEALTHCHECK --interval=10s --timeout=3s --start-period=15s CMD ["python", "-c", "import http.client, os; c = http.client.HTTPConnection('127.0.0.1', int(os.environ['PORT']), timeout=2); c.request('GET', '/healthz'); raise SystemExit(c.getresponse().status != 200)"]
CMD ["gunicorn", "-c", "python:service.gunicorn_conf"]
