"""What coding agents call at each prompt: an event on stdin, at most one JSON object on stdout.

Everything here runs at every prompt, so it avoids imports as `quick` does: no
argparse, no pyzmq, no dataclasses, no json (which loads re and enum, 7 ms).
"""
