//! The program `deciban`.

fn main() {
    std::process::exit(deciban_cli::run(std::env::args_os()));
}
