"""Data sets on disk: where they come from, where they lie, how they get here, and what is made of them once.

``sources`` says what there is, ``folder`` what of it is here, ``fetch`` and ``unpack`` bring it, ``get`` does both,
``cache`` keeps what a task made of it.
"""
