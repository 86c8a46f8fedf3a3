"""The library: what `import irdaemon` offers. Empty, so that the daemon takes the parts it uses."""
