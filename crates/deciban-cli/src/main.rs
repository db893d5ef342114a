//! The program `deciban`.

fn main() {
    // Ctrl-C leaves no temporary file behind. Where no handler can be had, it ends the program as ever.
    let _ = ctrlc::set_handler(|| {
        deciban::output::remove_pending();
        std::process::exit(130);
    });

    std::process::exit(deciban_cli::run(std::env::args_os()));
}
