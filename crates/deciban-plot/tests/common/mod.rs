//! What the tests of figures and charts share.

/// Panics unless tags are closed in order, attributes are quoted and texts are escaped.
pub fn well_formed(xml: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = xml.trim();
    let mut roots = 0;
    while !rest.is_empty() {
        let (text, tag) = rest.split_once('<').unwrap_or((rest, ""));
        assert!(!text.contains('>') && !text.contains("& "), "unescaped: {text}");
        assert!(text.trim().is_empty() || !open.is_empty(), "text outside: {text}");
        if tag.is_empty() {
            break;
        }
        let (inside, after) = tag.split_once('>').expect("every < has a >");
        rest = after;
        if let Some(name) = inside.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let (name, attributes) = inside.split_once(' ').unwrap_or((inside, ""));
        assert!(inside.matches('"').count() % 2 == 0 && !attributes.contains('\''), "{inside}");
        let attributes = attributes.trim_end_matches('/');
        let mut seen = Vec::new();
        for (i, part) in attributes.split('"').enumerate().filter(|(i, _)| i % 2 == 0) {
            if !part.trim().is_empty() {
                assert!(part.ends_with('=') && part.starts_with(' ') == (i > 0), "{inside}");
                assert!(!seen.contains(&part.trim()), "twice: {inside}");
                seen.push(part.trim());
            }
        }
        roots += usize::from(open.is_empty());
        if !inside.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && roots == 1, "open: {open:?}, roots: {roots}");
    assert!(!xml.chars().any(|c| c.is_control() && c != '\n'));
}

/// Width and height of a PNG file.
pub fn size_of_png(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n") && png.ends_with(b"IEND\xaeB`\x82"));
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}
