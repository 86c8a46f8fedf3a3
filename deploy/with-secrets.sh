#!/bin/sh
# Give a program what [index] backend_password_env names, from a file: no password stands in the
# environment of the compose file, nor in the configuration.
set -eu
if [ -n "${IRDAEMON_BACKEND_PASSWORD_FILE:-}" ]; then
    IRDAEMON_BACKEND_PASSWORD="$(cat "$IRDAEMON_BACKEND_PASSWORD_FILE")"
    export IRDAEMON_BACKEND_PASSWORD
fi
exec "$@"
