//! The files of the page, which are part of the program.

/// A file of the page.
pub struct File {
    /// Its path behind `/`; `index.html` is also at `/`.
    pub path: &'static str,
    /// Its content type.
    pub content_type: &'static str,
    /// What it holds.
    pub bytes: &'static [u8],
}

/// All files.
const FILES: &[File] = &[File {
    path: "index.html",
    content_type: "text/html; charset=utf-8",
    bytes: include_bytes!("../page/index.html"),
}];

/// The file at a path.
pub fn find(path: &str) -> Option<&'static File> {
    let path = if path == "/" { "index.html" } else { path.trim_start_matches('/') };
    FILES.iter().find(|file| file.path == path)
}
