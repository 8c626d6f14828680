// Shades the words by their similarity to one query term, or each by the term it is closest to.
const words = document.querySelectorAll('.text b');
const hues = JSON.parse(document.getElementById('hues').textContent);
const strength = s => Math.min(1, Math.max(0, (s - FAINTEST) / (1 - FAINTEST)));
document.querySelectorAll('input[name=term]').forEach(input => input.addEventListener('change', () => {
  for (const word of words) {
    const similarities = word.dataset.s.split(' ').map(Number);
    const term = input.value === 'all' ? similarities.indexOf(Math.max(...similarities)) : Number(input.value);
    word.style.setProperty('--h', hues[term]);
    word.style.setProperty('--s', strength(similarities[term]).toFixed(2));
  }
}));
