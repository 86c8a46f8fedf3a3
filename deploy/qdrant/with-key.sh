#!/bin/sh
# Start a node with the key that clients must have, from a file.
set -eu
QDRANT__SERVICE__API_KEY="$(cat /run/secrets/qdrant_key)"
export QDRANT__SERVICE__API_KEY
exec "$@"
