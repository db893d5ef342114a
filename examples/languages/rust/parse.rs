/// Numbers of a line, or where it goes wrong.
pub fn numbers(line: &str) -> Result<Vec<f64>, String> {
    line.split(',')
        .enumerate()
        .map(|(i, cell)| cell.trim().parse::<f64>().map_err(|e| format!("cell {i}: {e}")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers() {
        assert_eq!(numbers("1, 2.5").unwrap(), vec![1.0, 2.5]);
        assert!(numbers("1,x").is_err());
    }
}
