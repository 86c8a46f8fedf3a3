"""Where the documents of the corpora lie, made of what the daemon answered; it is asked nothing."""
