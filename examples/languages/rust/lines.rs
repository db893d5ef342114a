use std::collections::HashMap;
use std::io::{self, BufRead};

fn main() -> io::Result<()> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for line in io::stdin().lock().lines() {
        *seen.entry(line?).or_insert(0) += 1;
    }
    let mut counts: Vec<(&String, &usize)> = seen.iter().collect();
    counts.sort_by(|a, b| b.1.cmp(a.1).then(a.0.cmp(b.0)));
    for (line, n) in counts {
        println!("{n:>6} {line}");
    }
    Ok(())
}
