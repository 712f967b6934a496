#![cfg(feature = "live")]
