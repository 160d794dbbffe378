//! The tests of what is shown of a run from outside, as one program: each file is a module of it.

mod anything;
mod gateway;

servescope_testkit::every_file_is_a_module!();
