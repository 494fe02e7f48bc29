"""Pages for analysts: who is signed in, what a collection's panels show, and where they are served."""
