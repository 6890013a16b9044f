//! Relay
