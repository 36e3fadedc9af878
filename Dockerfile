# The server on a CPU, with the small model: docker build -t chamfer .
# With a GPU, install from a base with CUDA instead; see docs/guides/docker.md.

FROM python:3.11-slim-bookworm AS build
# The compiler is for the native kernel and does not get into the image; any version of it will do.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install --yes --no-install-recommends g++ \
    && rm -rf /var/lib/apt/lists/*
RUN python -m venv /opt/chamfer
ENV PATH=/opt/chamfer/bin:$PATH
WORKDIR /source
# torch comes first and from its own index: PyPI has the build for CUDA, which takes gigabytes. This layer is kept while
# the sources change.
COPY constraints.txt .
RUN pip install --no-cache-dir --no-deps --constraint constraints.txt \
    --index-url https://download.pytorch.org/whl/cpu torch
COPY CMakeLists.txt LICENSE README.md pyproject.toml ./
COPY native native
COPY src src
RUN pip install --no-cache-dir --constraint constraints.txt '.[html,mcp,minilm,openvino,parquet,pdf,serve]'

FROM python:3.11-slim-bookworm
LABEL org.opencontainers.image.title="chamfer" \
      org.opencontainers.image.description="Late-interaction retrieval in which every query token has a weight." \
      org.opencontainers.image.licenses="Apache-2.0"
# Volumes that are mounted here belong to the user, too, if they are new.
RUN useradd --uid 10001 --create-home chamfer \
    && install --directory --owner=chamfer --group=chamfer /cache /index /weights
COPY --from=build /opt/chamfer /opt/chamfer
ENV PATH=/opt/chamfer/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    XDG_CACHE_HOME=/cache
USER 10001
WORKDIR /home/chamfer
# Compiles the small model, so that the server starts without torch, also where nothing can be written. A new volume at
# /cache begins with this copy.
RUN python -c "from chamfer import Encoder; Encoder.load('minilm', device='cpu', engine='openvino')" \
    && test -n "$(ls /cache/chamfer/models)"
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/health', timeout=4)"]
ENTRYPOINT ["chamfer"]
CMD ["serve", "/index", "--versions", "/weights", "--host", "0.0.0.0"]
