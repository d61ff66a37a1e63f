"""From releases to controllers: all of it post-processing, so that privacy cannot be lost here."""
