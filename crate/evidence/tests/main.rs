//! The tests of measured runs beside ours from outside, as one program: each file is a module of it.

mod overlay;
mod overlay_summaries;

servescope_testkit::every_file_is_a_module!();
