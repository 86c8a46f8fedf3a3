"""What tests of several rooms build with: corpora, ledgers, secrets, a running daemon."""
