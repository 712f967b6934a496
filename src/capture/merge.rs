//! Several captures as one, in the order of time.
