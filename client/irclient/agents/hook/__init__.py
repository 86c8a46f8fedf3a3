"""What coding agents call at each prompt: an event on stdin, at most one JSON object on stdout.

Everything here is on the way of every prompt, so it takes the same short way as `quick`: no
argparse, no pyzmq, no dataclasses, no json (which loads re and enum, 7 ms).
"""
