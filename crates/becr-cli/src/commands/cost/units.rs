//! Numbers as people write them.

/// Parses a whole number with an optional k, M or G after it.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let number = number(text)?;
    if number.fract() != 0.0 || number < 1.0 {
        return Err("expected a whole number of at least 1, such as 1200, 50M or 8.8M".into());
    }
    Ok(number as u64)
}

/// Parses a number above zero with an optional k, M or G after it.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match number(text)? {
        number if number > 0.0 => Ok(number),
        _ => Err("expected a number above zero".into()),
    }
}

fn number(text: &str) -> Result<f64, String> {
    let (digits, factor) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1e3),
        Some(b'M') => (&text[..text.len() - 1], 1e6),
        Some(b'G') => (&text[..text.len() - 1], 1e9),
        _ => (text, 1.0),
    };
    let number = digits.parse::<f64>();
    let number = number.map_err(|_| "expected a number such as 1200, 50M or 8.8M".to_owned())?;
    // 8.8 times a million is not whole in binary; nobody means that.
    let scaled = match number * factor {
        scaled
            if (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().min(1e6) && factor > 1.0 =>
        {
            scaled.round()
        }
        scaled => scaled,
    };
    match scaled.abs() <= 1e15 {
        true => Ok(scaled),
        false => Err("expected a number of at most a million G".into()),
    }
}

/// Bytes in units of 1000, as the paper has them: `1,711 TB`, `37.9 TB`, `7.01 TB`.
pub(super) fn bytes(bytes: f64) -> String {
    let units = [(1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB")];
    scaled(bytes, &units, " bytes")
}

/// A count in units of 1000: `31.3M`, `12.1T`.
pub(super) fn short(count: f64) -> String {
    scaled(
        count,
        &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")],
        "",
    )
}

fn scaled(value: f64, units: &[(f64, &str)], none: &str) -> String {
    match units.iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{}{unit}", three_digits(value / size)),
        None => format!("{}{none}", three_digits(value)),
    }
}

/// Three digits, and more only before the point; whole numbers as such.
fn three_digits(value: f64) -> String {
    if value.fract() == 0.0 || value >= 99.95 {
        return thousands(value.round() as u64);
    }
    match value {
        value if value >= 9.995 => format!("{value:.1}"),
        value => format!("{value:.2}"),
    }
}

/// A whole number with commas.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_numbers() {
        assert_eq!(count("50M"), Ok(50_000_000));
        assert_eq!(count("8.8M"), Ok(8_800_000));
        assert_eq!(count("940.3M"), Ok(940_300_000));
        assert_eq!(count("1200"), Ok(1200));
        assert_eq!(positive("857.25"), Ok(857.25));
        for wrong in [
            "", "M", "0", "-3", "1.5", "0.0001k", "many", "NaN", "inf", "1e300", "5é",
        ] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
        assert!(positive("0").is_err() && positive("nan").is_err());
    }

    #[test]
    fn writes_numbers() {
        assert_eq!(bytes(1.7114e15), "1,711 TB");
        assert_eq!(bytes(3.788e13), "37.9 TB");
        assert_eq!(bytes(7.0096e12), "7.01 TB");
        assert_eq!(bytes(151.76e9), "152 GB");
        assert_eq!(bytes(305.5e9), "306 GB");
        assert_eq!(bytes(12.0), "12 bytes");
        assert_eq!(short(31.3e6), "31.3M");
        assert_eq!(short(9.0), "9");
        assert_eq!(short(999.96e6), "1,000M");
    }
}
