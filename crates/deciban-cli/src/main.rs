//! The program `deciban`.

mod memory;

#[global_allocator]
static ALLOCATOR: memory::Checked = memory::Checked;

fn main() {
    memory::set_aside();
    #[cfg(unix)]
    fail_at_limits_of_files();
    // Ctrl-C leaves no temporary file behind. Where no handler can be had, it ends the program as ever.
    let _ = ctrlc::set_handler(|| {
        // A server ends by itself, when it has answered what it has accepted.
        if deciban_serve::takes_signals() {
            return;
        }
        deciban::output::remove_pending();
        std::process::exit(130);
    });
    // Where no other thread can be had, as under a limit, all work is done by this one.
    if rayon::ThreadPoolBuilder::new().build_global().is_err() {
        let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
    }
    std::process::exit(deciban_cli::run(std::env::args_os()));
}

/// A file that grows beyond `ulimit -f` is an error of the write, and does not end the program by a signal.
#[cfg(unix)]
fn fail_at_limits_of_files() {
    // SAFETY: the signal is ignored, so no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
