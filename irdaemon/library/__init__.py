"""The library: the API of `import irdaemon`. Empty, so that the daemon imports only its needs."""
