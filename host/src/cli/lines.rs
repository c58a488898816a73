//! Formatted lines of output and failures. A `line` escapes also the line feeds in its values.

macro_rules! say {
    ($($text:tt)+) => { $crate::cli::output::say(&format!($($text)+)) };
}

macro_rules! say_line {
    ($($text:tt)+) => { $crate::cli::output::say(&$crate::cli::table::safe(&format!($($text)+))) };
}

macro_rules! complain {
    ($($text:tt)+) => { $crate::cli::output::complain(&format!($($text)+)) };
}

macro_rules! complain_line {
    ($($text:tt)+) => { $crate::cli::output::complain(&$crate::cli::table::safe(&format!($($text)+))) };
}

macro_rules! failed {
    ($($text:tt)+) => { $crate::cli::failure::CommandFailure::new(format!($($text)+)) };
}

macro_rules! failed_line {
    ($($text:tt)+) => {
        $crate::cli::failure::CommandFailure::new($crate::cli::table::safe(&format!($($text)+)))
    };
}

pub(crate) use {complain, complain_line, failed, failed_line, say, say_line};
